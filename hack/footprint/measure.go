package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/hack/measure"
)

// subject is a process to measure.
type subject struct {
	name string
	// begin starts the process and returns once it has reached its last phase.
	begin func(ctx context.Context, b *bench) (*child, error)
}

// bench is the environment of a measurement: a folder and a served cluster.
type bench struct {
	*options
	folder, self, url string
	fleet             fleet
}

// row is a line of the table: the memory on an almost empty cluster and on the whole
// cluster.
type row struct {
	name        string
	idle, whole memory
	phases      []phase
}

// compare measures all subjects.
func compare(ctx context.Context, o *options, out io.Writer) error {
	folder, err := os.MkdirTemp("", "evenkeel-footprint-")
	if err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	subjects, err := o.subjects()
	if err != nil {
		return err
	}
	var rows []row
	for _, s := range subjects {
		b := &bench{options: o, folder: folder, self: self}
		r := row{name: s.name}
		if o.empty {
			r.idle, _, err = b.measure(ctx, s, fleet{nodes: 1, podsPerNode: 1, watchList: o.watchList}, min(o.settle, 10*time.Second))
		}
		if err == nil {
			r.whole, r.phases, err = b.measure(ctx, s, o.fleet, o.settle)
		}
		rows = append(rows, r)
		if err != nil {
			return errors.Join(o.print(out, rows), fmt.Errorf("measuring %s (logs in %s): %w", s.name, folder, err))
		}
	}
	return errors.Join(o.print(out, rows), os.RemoveAll(folder))
}

// subjects returns the processes to measure, in order.
func (o *options) subjects() ([]subject, error) {
	var subjects []subject
	if o.bare {
		subjects = append(subjects, subject{"client-go informers", beginInformers(false)}, subject{"client-go informers, stripped", beginInformers(true)})
	}
	for _, command := range o.commands {
		if _, ok := evenkeelArgs[command]; !ok {
			return nil, fmt.Errorf("--commands: there is no %q to measure", command)
		}
		for _, source := range o.sources {
			subjects = append(subjects, subject{"evenkeel " + command + ", " + source, beginEvenkeel(command, source)})
		}
	}
	return subjects, nil
}

// measure runs a subject against a fleet.
func (b *bench) measure(ctx context.Context, s subject, f fleet, length time.Duration) (memory, []phase, error) {
	ctx, cancel := context.WithTimeout(ctx, b.patience+length)
	defer cancel()
	b.fleet = f
	server, err := start(ctx, "", filepath.Join(b.folder, "server.log"), b.self, "--role=serve", fmt.Sprintf("--nodes=%d", f.nodes),
		fmt.Sprintf("--pods-per-node=%d", f.podsPerNode), fmt.Sprintf("--updates=%d", f.updates), fmt.Sprintf("--churn=%g", f.churn), fmt.Sprintf("--watch-list=%t", f.watchList))
	if err != nil {
		return memory{}, nil, err
	}
	defer server.stop()
	if b.url, err = server.line(ctx); err != nil {
		return memory{}, nil, fmt.Errorf("waiting for the fake API server: %w", err)
	}
	subject, err := s.begin(ctx, b)
	if subject == nil {
		return memory{}, nil, err
	}
	defer subject.stop()
	if err != nil {
		return memory{}, subject.phases, err
	}
	m, err := subject.settle(ctx, length)
	return m, subject.phases, err
}

func (o *options) print(out io.Writer, rows []row) error {
	lists := "streamed"
	if !o.watchList {
		lists = "in pages"
	}
	pod := o.pod(0, firstVersion)
	asJSON, _ := json.Marshal(pod)
	fmt.Fprintf(out, "%d nodes, %d pods of %.1f KiB in protobuf, %.1f KiB in JSON, first lists %s, %d pod updates/s, %g %% replaced a minute\n",
		o.nodes, o.fleet.pods(), float64(pod.Size())/1024, float64(len(asJSON))/1024, lists, o.updates, o.churn)
	fmt.Fprintf(out, "resident memory in MiB; steady is the median of the second half of %v, peak the highest from the start on\n\n", o.settle)
	table := [][]string{{"process", "empty cluster", "steady", "peak", "peak per pod", "of the first's peak"}}
	for _, r := range rows {
		table = append(table, []string{
			r.name, mib(r.idle.resident), mib(r.whole.resident), mib(r.whole.peak),
			fmt.Sprintf("%.1f KiB", float64(r.whole.peak-r.idle.peak)/1024/float64(o.fleet.pods())),
			fmt.Sprintf("%.0f %%", 100*float64(r.whole.peak)/float64(rows[0].whole.peak)),
		})
	}
	if err := measure.Table(out, table); err != nil {
		return err
	}
	table = [][]string{{"process", "phase", "ended after", "CPU until then", "peak until then"}}
	for _, r := range rows {
		for _, p := range r.phases {
			table = append(table, []string{r.name, p.name, p.took.Round(100 * time.Millisecond).String(), p.cpu.Round(100 * time.Millisecond).String(), mib(p.peak)})
		}
	}
	fmt.Fprintln(out)
	if err := measure.Table(out, table); err != nil {
		return err
	}
	if o.lines {
		printLines(out, rows)
	}
	return nil
}

// printLines prints the table as Go benchmark lines, for benchstat.
func printLines(out io.Writer, rows []row) {
	fmt.Fprintln(out)
	name := strings.NewReplacer(", ", "/", " ", "-")
	for _, r := range rows {
		fmt.Fprintln(out, measure.Line("Footprint/"+name.Replace(strings.TrimPrefix(r.name, "evenkeel ")),
			measure.Value{Number: tenth(r.whole.peak), Unit: "peak-MiB"}, measure.Value{Number: tenth(r.whole.resident), Unit: "resident-MiB"}))
	}
}

func tenth(bytes int64) string { return fmt.Sprintf("%.1f", float64(bytes)/(1<<20)) }

func mib(bytes int64) string { return fmt.Sprintf("%.0f", float64(bytes)/(1<<20)) }
