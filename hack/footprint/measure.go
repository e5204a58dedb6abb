package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
)

// subject is a process to measure.
type subject struct {
	name string
	// begin starts it and returns once it knows the whole cluster.
	begin func(ctx context.Context, b *bench) (*child, error)
}

// bench is where a subject is measured: a folder and a served cluster.
type bench struct {
	*options
	folder, self, url string
	fleet             fleet
}

// row is a line of the table: with hardly any cluster, and with the whole.
type row struct {
	name        string
	idle, whole memory
	took        time.Duration
}

// measure compares all subjects.
func measure(ctx context.Context, o *options, out io.Writer) error {
	folder, err := os.MkdirTemp("", "evenkeel-footprint-")
	if err != nil {
		return fmt.Errorf("making a folder: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	subjects := []subject{{"client-go informers", beginInformers}}
	for _, source := range o.sources {
		subjects = append(subjects, subject{"evenkeel extender, " + source, beginExtender(source)})
	}
	var rows []row
	for _, s := range subjects {
		b := &bench{options: o, folder: folder, self: self}
		r := row{name: s.name}
		if r.idle, _, err = b.measure(ctx, s, fleet{nodes: 1, podsPerNode: 1, watchList: o.watchList}, 10*time.Second); err == nil {
			r.whole, r.took, err = b.measure(ctx, s, o.fleet, o.settle)
		}
		if err != nil {
			return fmt.Errorf("measuring %s (logs in %s): %w", s.name, folder, err)
		}
		rows = append(rows, r)
	}
	o.print(out, rows)
	return os.RemoveAll(folder)
}

// measure runs a subject against a fleet.
func (b *bench) measure(ctx context.Context, s subject, f fleet, length time.Duration) (memory, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute+length)
	defer cancel()
	b.fleet = f
	server, err := start(ctx, filepath.Join(b.folder, "server.log"), b.self, "--role=serve", fmt.Sprintf("--nodes=%d", f.nodes),
		fmt.Sprintf("--pods-per-node=%d", f.podsPerNode), fmt.Sprintf("--updates=%d", f.updates), fmt.Sprintf("--watch-list=%t", f.watchList))
	if err != nil {
		return memory{}, 0, err
	}
	defer server.stop()
	if b.url, err = server.line(ctx); err != nil {
		return memory{}, 0, fmt.Errorf("waiting for the fake API server: %w", err)
	}
	began := time.Now()
	subject, err := s.begin(ctx, b)
	if subject != nil {
		defer subject.stop()
	}
	took := time.Since(began)
	if err != nil {
		return memory{}, took, err
	}
	m, err := subject.settle(ctx, length)
	return m, took, err
}

func (o *options) print(out io.Writer, rows []row) {
	lists := "streamed"
	if !o.watchList {
		lists = "in pages"
	}
	pod := o.pod(0, firstVersion).Size()
	fmt.Fprintf(out, "%d nodes, %d pods of %.1f KiB in protobuf, first lists %s, %d pod updates/s\n", o.nodes, o.fleet.pods(), float64(pod)/1024, lists, o.updates)
	fmt.Fprintf(out, "resident memory in MiB; steady is the median of the second half of %v\n\n", o.settle)
	table := tabwriter.NewWriter(out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "process\tempty cluster\tsteady\tpeak\tof informers' steady\tknows all after")
	for _, r := range rows {
		fmt.Fprintln(table, strings.Join([]string{
			r.name, mib(r.idle.resident), mib(r.whole.resident), mib(r.whole.peak),
			fmt.Sprintf("%.0f %%", 100*float64(r.whole.resident)/float64(rows[0].whole.resident)), r.took.Round(100 * time.Millisecond).String(),
		}, "\t"))
	}
	table.Flush()
}

func mib(bytes int64) string { return fmt.Sprintf("%.0f", float64(bytes)/(1<<20)) }
