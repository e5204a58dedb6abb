package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/hack/measure"
	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/cmd/internal/workshop"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/throughput"
)

const (
	// upWithin bounds each step before the first round.
	upWithin = 5 * time.Minute
	// pollEvery is the polling interval while waiting.
	pollEvery = 100 * time.Millisecond
	// nodeLease is longer than any run, so that renewing the Leases of a thousand nodes does
	// not affect the figures. kwok renews all Leases at nearly the same time, after a
	// quarter of their duration, which would affect the rounds of some variants more often
	// than those of others.
	nodeLease = 20 * time.Hour
)

// stage is a cluster whose nodes are in use, together with all handlers.
type stage struct {
	*workshop.Workshop
	flags     flags
	binary    string
	scheduler string
	policy    string

	client   *http.Client
	handlers map[throughput.Handler]*handler
	// ownKubeconfig is the kubeconfig of the ServiceAccount of kube-scheduler with the
	// plugin.
	ownKubeconfig string
	access        evenkeel.Accesses
	// serving is the Evenkeel process for the variants with Admission; nil if there are
	// none.
	serving *evenkeel.Process
	// hot holds the names of the hot nodes.
	hot map[string]bool
	// runs counts the kube-schedulers that were started. Their logs are named by it.
	runs int
}

// newStage prepares everything that does not need a cluster.
func newStage(ctx context.Context, f flags, progress io.Writer) (*stage, error) {
	s := &stage{flags: f, binary: f.binary, scheduler: f.scheduler, handlers: map[throughput.Handler]*handler{}, hot: map[string]bool{}}
	var err error
	if s.Workshop, err = workshop.Open(ctx, "throughput", progress); err != nil {
		return nil, err
	}
	if s.binary == "" && s.needs(func(v throughput.Variant) bool { return v.Handler == throughput.Evenkeel || v.Admission }) {
		if s.binary, err = evenkeel.Build(ctx, s.BinDir); err != nil {
			return nil, err
		}
	}
	if s.scheduler == "" && s.needs(func(v throughput.Variant) bool { return v.Own }) {
		if s.scheduler, err = evenkeel.BuildScheduler(ctx, s.BinDir); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *stage) needs(what func(throughput.Variant) bool) bool {
	return slices.ContainsFunc(s.flags.variants, what)
}

// play starts the stage and runs the rounds. The report contains what was finished, even
// if there is an error.
func (s *stage) play(ctx context.Context, out io.Writer) (*throughput.Report, error) {
	report := &throughput.Report{Nodes: s.flags.nodes, Pods: s.flags.pods}
	if err := s.raise(ctx); err != nil {
		return report, err
	}
	if err := s.playAlone(ctx, report, out); err != nil {
		return report, err
	}
	return report, s.playSideBySide(ctx, report, out)
}

// playAlone runs the rounds of the variants that start their own
// kube-scheduler.
func (s *stage) playAlone(ctx context.Context, report *throughput.Report, out io.Writer) error {
	alone := slices.DeleteFunc(slices.Clone(s.flags.variants), func(v throughput.Variant) bool { return v.SideBySide })
	for round := range s.flags.rounds {
		for _, v := range measure.Order(round, alone) {
			figure, err := s.round(ctx, v)
			if err != nil {
				return fmt.Errorf("round %d of %q: %w", round+1, v.Name, err)
			}
			s.report(report, out, round, v, figure)
		}
	}
	return nil
}

// playSideBySide runs the rounds of the side-by-side variants.
func (s *stage) playSideBySide(ctx context.Context, report *throughput.Report, out io.Writer) error {
	side, err := s.startSideBySide(ctx)
	if err != nil || len(side.all) == 0 {
		return err
	}
	for round := range s.flags.rounds {
		figures, err := side.round(ctx, round)
		if err != nil {
			return fmt.Errorf("round %d: %w", round+1, err)
		}
		for _, k := range side.all {
			s.report(report, out, round, k.variant, figures[k.variant.Name])
		}
	}
	return nil
}

func (s *stage) report(report *throughput.Report, out io.Writer, round int, v throughput.Variant, figure throughput.Figure) {
	report.Add(v.Name, figure)
	s.Tell("round %d: %s %.0f pods/s; CPU ms per pod: kube-scheduler %.2f, handler %.2f",
		round+1, v.Name, figure.PodsPerSecond, figure.SchedulerMilliPerPod, figure.HandlerMilliPerPod)
	if s.flags.bench {
		fmt.Fprintln(out, report.BenchLine(v.Name, figure))
	}
}

// raise starts the cluster, puts its nodes in use and starts the handlers. The processes
// run until the context ends.
func (s *stage) raise(ctx context.Context) (err error) {
	if err := s.Start(ctx, cluster.Options{NodeLease: nodeLease}); err != nil {
		return err
	}
	s.policy = filepath.Join(s.Dir, "policy.yaml")
	if err := os.WriteFile(s.policy, []byte(policy), 0o600); err != nil {
		return fmt.Errorf("writing the policy: %w", err)
	}
	if s.client, err = rest.HTTPClientFor(s.Cluster.Config()); err != nil {
		return fmt.Errorf("making an HTTP client: %w", err)
	}
	if err := s.Cluster.Shutdown(cluster.Scheduler); err != nil {
		return err
	}
	if err := s.furnish(ctx); err != nil {
		return err
	}
	if s.access, err = evenkeel.Install(ctx, s.Cluster); err != nil {
		return err
	}
	if s.ownKubeconfig, err = s.Cluster.KubeconfigFor(ctx, evenkeel.Namespace, "evenkeel-scheduler"); err != nil {
		return err
	}
	if err := s.startServing(ctx); err != nil {
		return err
	}
	return s.startHandlers(ctx)
}

// startHandlers starts the handlers that the variants need. They keep running throughout.
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

// eventually polls until a condition holds.
func eventually(ctx context.Context, within time.Duration, want string, holds wait.ConditionWithContextFunc) error {
	if err := wait.PollUntilContextTimeout(ctx, pollEvery, within, true, holds); err != nil {
		return fmt.Errorf("waiting until %s: %w", want, err)
	}
	return nil
}
