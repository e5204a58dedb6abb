package commands

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/evenkeel/evenkeel/sim"
	"github.com/evenkeel/evenkeel/sim/recording"
)

// ownShape holds the flags for properties that a recording itself determines.
var ownShape = append([]string{
	"trace", "memory-trace", "generate", "generate-series", "pods-per-node", "nodes", "pods", "replicas-per-owner", "mean-cpu", "mean-memory", "requested",
}, denseShape...)

// denseShape holds the flags that apply only to --generate=dense, otherShape those that
// do not apply to it.
var (
	denseShape = []string{"dense-load", "dense-sigma", "dense-pods"}
	otherShape = []string{"memory-trace", "generate-series", "pods", "mean-cpu", "mean-memory", "requested"}
)

// without rejects flags that would have no effect, because the result would not be what
// the user requested.
func (o *SimulateOptions) without(flags []string, why string) error {
	for _, name := range flags {
		if o.flags != nil && o.flags.Changed(name) {
			return fmt.Errorf("--%s %s", name, why)
		}
	}
	return nil
}

// fleet makes the fleet to replay from a recording, a trace or generated load.
func (o *SimulateOptions) fleet() error {
	if o.Recording != "" {
		return o.recordedFleet()
	}
	if o.Stretch {
		return errors.New("--stretch requires --recording")
	}
	if o.Trace == "" && o.Generate == generators[3] {
		return o.denseFleet()
	}
	err := o.without(denseShape, "requires --generate=dense")
	if err == nil && o.Trace != "" {
		err = o.without([]string{"generate", "generate-series"}, "cannot be combined with --trace")
	}
	if err != nil {
		return err
	}
	cpu, memory, err := o.traces()
	if err != nil {
		return err
	}
	o.replayed = cpu.Name
	if memory != nil {
		o.replayedMemory = memory.Name
	}
	o.Run.Fleet, err = sim.NewFleet(o.Shape, cpu, memory)
	return err
}

// denseFleet makes a fleet with one crowded node among empty ones.
func (o *SimulateOptions) denseFleet() (err error) {
	if err := o.without(otherShape, "cannot be combined with --generate=dense, which has its own nodes and pods"); err != nil {
		return err
	}
	d := o.Dense
	d.Seed, d.Nodes = o.Run.Seed, cmp.Or(o.Shape.Nodes, d.Nodes)
	if o.flags != nil && o.flags.Changed("pods-per-node") {
		pods := o.Shape.PodsPerNode
		if !(pods >= 1 && pods <= sim.MaxDensePods) || pods != math.Trunc(pods) { // also true for NaN
			return fmt.Errorf("--pods-per-node: %v: must be a whole number from 1 to %d with --generate=dense", pods, sim.MaxDensePods)
		}
		d.Pods = int(pods)
	}
	if o.flags != nil && o.flags.Changed("replicas-per-owner") {
		d.ReplicasPerOwner = o.Shape.ReplicasPerOwner
	}
	o.Run.Fleet, err = sim.NewDenseFleet(d)
	o.replayed = o.Generate
	return err
}

func (o *SimulateOptions) recordedFleet() error {
	if err := o.without(ownShape, "cannot be combined with --recording, which has its own nodes and pods"); err != nil {
		return err
	}
	rec, err := openRecording(o.Recording)
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(o.Recording), ".gz"), ".evenkeel")
	if o.Stretch {
		name += fmt.Sprintf(" (readings of %v played as %v)", rec.Header.Interval(), sim.Step)
	}
	fleet, assumed, err := sim.NewRecordedFleet(sim.Recorded{Name: name, Recording: rec, Stretch: o.Stretch, Seed: o.Run.Seed})
	if err != nil {
		return fmt.Errorf("%s: %w", o.Recording, err)
	}
	o.Run.Fleet, o.replayed, o.replayedMemory = fleet, name, name
	o.note(rec, assumed)
	return nil
}

func openRecording(path string) (*recording.Recording, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening a recording: %w", err)
	}
	defer func() { _ = file.Close() }()
	rec, err := recording.Read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return rec, nil
}

// note reports the differences between the replay and the recording.
func (o *SimulateOptions) note(rec *recording.Recording, assumed sim.Assumed) {
	if o.Notes == nil {
		return
	}
	printf := func(format string, args ...any) { _, _ = fmt.Fprintf(o.Notes, o.Recording+": "+format+"\n", args...) }
	if rec.Cut != "" {
		printf("%s: replaying the %d readings recorded up to that point", rec.Cut, rec.Readings)
	}
	if assumed.LaterNodes > 0 {
		printf("%d nodes that came later are left out, with %d pods of theirs", assumed.LaterNodes, assumed.LaterPods)
	}
	if assumed.Unmeasured > 0 {
		printf("%d of %d pods were never measured: each uses what others like it do, or what it requests", assumed.Unmeasured, len(rec.Pods))
	}
	if o.Stretch {
		printf("a reading every %v is played as %v: shares of time are right, figures per day and the pace of evictions are not", rec.Header.Interval(), sim.Step)
	}
}
