package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/soak"
)

const (
	// nodeCores and nodeGiB are what each node has.
	nodeCores, nodeGiB = 32, 256
	// namespace holds the fleet.
	namespace = "soak"
	// upWithin bounds each of the steps before the clock starts.
	upWithin = 10 * time.Minute
)

// stage is a cluster with the fleet on it and Evenkeel beside it.
type stage struct {
	flags    flags
	progress io.Writer
	dir      string
	binary   string
	policy   string
	lines    soak.Lines

	fleet   []soak.Deployment
	load    *soak.Load
	roster  *soak.Roster
	traceID string

	cluster   *cluster.Cluster
	nodes     []string
	processes []*replica
	// started is when usage began to change.
	started time.Time
}

// newStage prepares all that needs no cluster.
func newStage(ctx context.Context, f flags, progress io.Writer) (*stage, error) {
	s := &stage{flags: f, progress: progress}
	if err := s.prepareLoad(); err != nil {
		return nil, err
	}
	if err := s.readPolicy(ctx); err != nil {
		return nil, err
	}
	binDir, err := cluster.DefaultBinDir(ctx)
	if err != nil {
		return nil, err
	}
	if err := cluster.Build(ctx, binDir, progress); err != nil {
		return nil, err
	}
	s.binary = f.binary
	if s.binary == "" && !f.baseline {
		if s.binary, err = evenkeel.Build(ctx, binDir); err != nil {
			return nil, err
		}
	}
	if s.dir, err = os.MkdirTemp("", "evenkeel-soak-"); err != nil {
		return nil, fmt.Errorf("making a folder for logs: %w", err)
	}
	return s, nil
}

func (s *stage) prepareLoad() (err error) {
	shape := s.flags.shape
	cpu, memory := soak.GenerateCPU(shape.Pods, shape.Seed), soak.GenerateMemory(shape.Pods, shape.Seed)
	if s.flags.trace != "" {
		recorded, recordedMemory, err := soak.FindTraces(s.flags.trace)
		if err != nil {
			return err
		}
		cpu = recorded
		if recordedMemory != nil {
			memory = recordedMemory
		}
	}
	s.traceID = cpu.Name + " and " + memory.Name
	if s.fleet, err = soak.NewFleet(shape, cpu.MeanPercent(), memory.MeanPercent()); err != nil {
		return err
	}
	s.load, err = soak.NewLoad(soak.LoadConfig{Fleet: s.fleet, CPU: cpu, Memory: memory, Step: s.flags.step, Seed: shape.Seed})
	if err != nil {
		return err
	}
	s.roster = soak.NewRoster(soak.RosterConfig{
		Fleet: s.fleet, Load: s.load,
		Hot: func(used soak.Amounts) bool { return s.lines.Hot(used, shape.Node) },
	})
	return nil
}

func (s *stage) readPolicy(ctx context.Context) error {
	s.policy = s.flags.policy
	if s.policy == "" {
		root, err := evenkeel.Root(ctx)
		if err != nil {
			return err
		}
		s.policy = filepath.Join(root, "policy.yaml")
	}
	content, err := os.ReadFile(s.policy)
	if err != nil {
		return fmt.Errorf("reading the policy: %w", err)
	}
	s.lines, err = soak.LinesOf(content)
	return err
}

// raise starts the cluster, puts the fleet on it and starts Evenkeel. The context is that of the processes' whole lives.
func (s *stage) raise(ctx context.Context) error {
	listen, err := evenkeel.FreeAddress()
	if err != nil {
		return err
	}
	binDir, err := cluster.DefaultBinDir(ctx)
	if err != nil {
		return err
	}
	options := cluster.Options{BinDir: binDir, StateDir: filepath.Join(s.dir, "cluster")}
	if !s.flags.baseline {
		options.Extenders = []schedulerv1.Extender{cluster.Extender("http://" + listen)}
	}
	s.tell("Starting a cluster of %d nodes; logs are in %s.", s.flags.shape.Nodes, s.dir)
	if s.cluster, err = cluster.Start(ctx, options); err != nil {
		return err
	}
	if err := s.furnish(ctx); err != nil {
		return err
	}
	if s.flags.baseline {
		return nil
	}
	return s.startEvenkeel(ctx, listen)
}

// furnish adds the nodes and the fleet, exactly where soak.Place wants it.
func (s *stage) furnish(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, upWithin)
	defer cancel()
	began, shape := time.Now(), s.flags.shape
	template := cluster.NodeTemplate{CPU: fmt.Sprint(nodeCores), Memory: fmt.Sprintf("%dGi", nodeGiB)}
	if s.nodes, err = s.cluster.AddNodes(ctx, shape.Nodes, template); err != nil {
		return err
	}
	on := soak.Place(s.fleet, s.nodes, shape.Node)
	placements := make([]cluster.Placement, len(s.fleet))
	for i, d := range s.fleet {
		placements[i] = cluster.Placement{On: on[i], Workload: cluster.Workload{
			Namespace: namespace, Name: d.Name,
			Requests: resources(d.Request), Usage: resources(s.load.At(d.First, 0)),
		}}
	}
	if err := s.cluster.Place(ctx, placements...); err != nil {
		return err
	}
	s.tell("%d pods of %d Deployments stand on %d nodes, after %v.", shape.Pods, len(s.fleet), len(s.nodes), time.Since(began).Round(time.Second))
	return nil
}

func resources(a soak.Amounts) cluster.Resources {
	return cluster.Resources{CPU: fmt.Sprintf("%dm", a.CPUMilli), Memory: fmt.Sprint(a.MemoryBytes)}
}

func (s *stage) tell(format string, args ...any) { fmt.Fprintf(s.progress, format+"\n", args...) }

// close stops everything in the reverse order of starting.
func (s *stage) close() error {
	var errs []error
	for _, r := range s.processes {
		errs = append(errs, r.stop())
	}
	if s.cluster != nil {
		errs = append(errs, s.cluster.Stop())
	}
	return errors.Join(errs...)
}

// cleanUp removes the logs of a run without errors.
func (s *stage) cleanUp(err error) error {
	if err != nil {
		return fmt.Errorf("%w; logs are in %s", err, s.dir)
	}
	if s.flags.keep {
		s.tell("Logs are in %s.", s.dir)
		return nil
	}
	return os.RemoveAll(s.dir)
}
