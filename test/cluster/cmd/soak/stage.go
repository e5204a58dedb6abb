package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/apifault"
	"github.com/evenkeel/evenkeel/test/cluster/cmd/internal/workshop"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/soak"
)

const (
	// namespace holds the fleet.
	namespace = "soak"
	// upWithin bounds each step before the clock starts.
	upWithin = 10 * time.Minute
)

// stage is a cluster with the fleet and Evenkeel.
type stage struct {
	*workshop.Workshop
	flags  flags
	binary string
	policy string
	lines  soak.Lines

	fleet   []soak.Deployment
	load    *soak.Load
	roster  *soak.Roster
	traceID string

	nodes     []string
	processes []*replica
	// proxies holds, with --faults, the proxies between each process and the API server.
	proxies []*apifault.Proxy
	// started is when usage began to change.
	started time.Time
}

// newStage prepares everything that does not need a cluster.
func newStage(ctx context.Context, f flags, progress io.Writer) (_ *stage, err error) {
	s := &stage{flags: f, binary: f.binary}
	if err := s.prepareLoad(); err != nil {
		return nil, err
	}
	if err := s.readPolicy(ctx); err != nil {
		return nil, err
	}
	if s.Workshop, err = workshop.Open(ctx, "soak", progress); err != nil {
		return nil, err
	}
	if s.binary == "" && !f.baseline {
		s.binary, err = evenkeel.Build(ctx, s.BinDir)
	}
	return s, err
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
	if s.fleet, err = soak.NewFleet(shape, soak.MeanPercent(cpu), soak.MeanPercent(memory)); err != nil {
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

// raise starts the cluster, creates the fleet and starts Evenkeel. The processes run
// until the context ends.
func (s *stage) raise(ctx context.Context) error {
	listen, err := evenkeel.FreeAddress()
	if err != nil {
		return err
	}
	var options cluster.Options
	if !s.flags.baseline {
		options.Extenders = []schedulerv1.Extender{cluster.Extender("http://" + listen)}
	}
	if err := s.Start(ctx, options); err != nil {
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

// furnish adds the nodes and the fleet. Pods are placed exactly as soak.Place determines.
func (s *stage) furnish(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, upWithin)
	defer cancel()
	began, shape := time.Now(), s.flags.shape
	if s.nodes, err = s.AddNodes(ctx, shape.Nodes); err != nil {
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
	if err := s.Cluster.Place(ctx, placements...); err != nil {
		return err
	}
	s.Tell("%d pods of %d Deployments stand on %d nodes, after %v.", shape.Pods, len(s.fleet), len(s.nodes), time.Since(began).Round(time.Second))
	return nil
}

func resources(a soak.Amounts) cluster.Resources {
	return cluster.Resources{CPU: fmt.Sprintf("%dm", a.CPUMilli), Memory: fmt.Sprint(a.MemoryBytes)}
}
