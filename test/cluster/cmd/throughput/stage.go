package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/throughput"
)

const (
	// upWithin bounds each of the steps before the first round.
	upWithin = 5 * time.Minute
	// pollEvery is the pace of waiting.
	pollEvery = 100 * time.Millisecond
	// nodeLease is long, to keep what a thousand nodes write out of the figures.
	nodeLease = 4 * time.Minute
)

// stage is a cluster whose nodes are in use, with every handler beside it.
type stage struct {
	flags     flags
	progress  io.Writer
	dir       string
	binDir    string
	binary    string
	scheduler string
	policy    string

	cluster  *cluster.Cluster
	client   *http.Client
	handlers map[throughput.Handler]*handler
	// ownKubeconfig speaks for the ServiceAccount of kube-scheduler with the plugin.
	ownKubeconfig string
	access        evenkeel.Accesses
	// runs counts the kube-schedulers started, for the names of their logs.
	runs int
}

// newStage prepares all that needs no cluster.
func newStage(ctx context.Context, f flags, progress io.Writer) (*stage, error) {
	s := &stage{flags: f, progress: progress, binary: f.binary, scheduler: f.scheduler, handlers: map[throughput.Handler]*handler{}}
	var err error
	if s.binDir, err = cluster.DefaultBinDir(ctx); err != nil {
		return nil, err
	}
	if err := cluster.Build(ctx, s.binDir, progress); err != nil {
		return nil, err
	}
	if s.binary == "" && s.needs(func(v throughput.Variant) bool { return v.Handler == throughput.Evenkeel }) {
		if s.binary, err = evenkeel.Build(ctx, s.binDir); err != nil {
			return nil, err
		}
	}
	if s.scheduler == "" && s.needs(func(v throughput.Variant) bool { return v.Own }) {
		if s.scheduler, err = evenkeel.BuildScheduler(ctx, s.binDir); err != nil {
			return nil, err
		}
	}
	if s.dir, err = os.MkdirTemp("", "evenkeel-throughput-"); err != nil {
		return nil, fmt.Errorf("making a folder for logs: %w", err)
	}
	s.policy = filepath.Join(s.dir, "policy.yaml")
	return s, os.WriteFile(s.policy, []byte(policy), 0o600)
}

func (s *stage) needs(what func(throughput.Variant) bool) bool {
	return slices.ContainsFunc(s.flags.variants, what)
}

// play raises the stage and runs the rounds. The report is of what was finished, whatever the error.
func (s *stage) play(ctx context.Context, out io.Writer) (*throughput.Report, error) {
	report := &throughput.Report{Nodes: s.flags.nodes, Pods: s.flags.pods}
	if err := s.raise(ctx); err != nil {
		return report, err
	}
	for round := range s.flags.rounds {
		variants := slices.Clone(s.flags.variants)
		if round%2 == 1 { // what drifts must not always be to the same one's cost
			slices.Reverse(variants)
		}
		for _, v := range variants {
			figure, err := s.round(ctx, v)
			if err != nil {
				return report, fmt.Errorf("round %d of %q: %w", round+1, v.Name, err)
			}
			report.Add(v.Name, figure)
			s.tell("round %d: %s %.0f pods/s; CPU ms per pod: kube-scheduler %.2f, handler %.2f",
				round+1, v.Name, figure.PodsPerSecond, figure.SchedulerMilliPerPod, figure.HandlerMilliPerPod)
			if s.flags.bench {
				fmt.Fprintln(out, report.BenchLine(v.Name, figure))
			}
		}
	}
	return report, nil
}

// raise starts the cluster, puts nodes in use and starts the handlers. The context is that of the processes' whole lives.
func (s *stage) raise(ctx context.Context) (err error) {
	s.tell("Starting a cluster of %d nodes; logs are in %s.", s.flags.nodes, s.dir)
	s.cluster, err = cluster.Start(ctx, cluster.Options{BinDir: s.binDir, StateDir: filepath.Join(s.dir, "cluster"), NodeLease: nodeLease})
	if err != nil {
		return err
	}
	if s.client, err = rest.HTTPClientFor(s.cluster.Config()); err != nil {
		return fmt.Errorf("making an HTTP client: %w", err)
	}
	if err := s.cluster.Shutdown(cluster.Scheduler); err != nil {
		return err
	}
	if err := s.furnish(ctx); err != nil {
		return err
	}
	if s.access, err = evenkeel.Install(ctx, s.cluster); err != nil {
		return err
	}
	if s.ownKubeconfig, err = s.cluster.KubeconfigFor(ctx, evenkeel.Namespace, "evenkeel-scheduler"); err != nil {
		return err
	}
	return s.startHandlers(ctx)
}

// startHandlers starts those that the variants need. They stay, whatever variant runs.
func (s *stage) startHandlers(ctx context.Context) (err error) {
	for _, v := range s.flags.variants {
		switch {
		case v.Handler == throughput.NoHandler || s.handlers[v.Handler] != nil:
		case v.Handler == throughput.Evenkeel:
			s.handlers[v.Handler], err = s.startEvenkeel(ctx)
		default:
			s.handlers[v.Handler], err = s.startNeutral(ctx, v.Handler)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) tell(format string, args ...any) { fmt.Fprintf(s.progress, format+"\n", args...) }

// close stops everything in the reverse order of starting.
func (s *stage) close() error {
	var errs []error
	for _, h := range s.handlers {
		if h != nil {
			errs = append(errs, h.stop())
		}
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

// eventually polls until what is wanted holds.
func eventually(ctx context.Context, within time.Duration, want string, holds wait.ConditionWithContextFunc) error {
	if err := wait.PollUntilContextTimeout(ctx, pollEvery, within, true, holds); err != nil {
		return fmt.Errorf("waiting until %s: %w", want, err)
	}
	return nil
}
