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

	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/evenkeel/evenkeel/internal/terminal"
	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

// show is the scenario with its state.
type show struct {
	out   io.Writer
	style layout.Style
	// steering is the selected way to steer.
	steering string
	// ui reports whether the address of the page is printed.
	ui bool
	// board is nil unless the dashboard is checked as well.
	board   *board
	started time.Time
	dir     string
	binary  string
	cluster *cluster.Cluster
	story   *scenario.Story
	server  *evenkeel.Process
	listen  string
	metrics string
	watch   *watch
	asked   bool
}

func newShow(ctx context.Context, out io.Writer, steering string) (*show, error) {
	style, err := terminal.StyleOf(out, "auto", os.Getenv)
	if err != nil {
		return nil, err
	}
	s := &show{out: out, style: style, steering: steering}
	s.say("Building a control plane from Go modules: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, metrics-server, kwok.")
	s.say("The first time takes some minutes, later ones a second.")
	binDir, err := cluster.DefaultBinDir(ctx)
	if err != nil {
		return nil, err
	}
	if err := cluster.Build(ctx, binDir, out); err != nil {
		return nil, err
	}
	if s.binary, err = evenkeel.Build(ctx, binDir); err != nil {
		return nil, err
	}
	if s.dir, err = os.MkdirTemp("", "evenkeel-demo-"); err != nil {
		return nil, fmt.Errorf("making a folder for logs: %w", err)
	}
	s.started = time.Now()
	return s, nil
}

func (s *show) close() {
	if s.watch != nil {
		s.watch.stop()
	}
	var errs []error
	errs = append(errs, s.board.stop())
	if s.server != nil {
		errs = append(errs, s.server.Stop())
	}
	if s.cluster != nil {
		errs = append(errs, s.cluster.Stop())
	}
	if err := errors.Join(errs...); err != nil {
		s.say("Stopping: %v", err)
	}
}

// raise starts the cluster, with a kube-scheduler that either calls Evenkeel or is the
// default one, and Evenkeel with only its shipped permissions.
func (s *show) raise(ctx context.Context) (err error) {
	if s.listen, err = evenkeel.FreeAddress(); err != nil {
		return err
	}
	if s.metrics, err = evenkeel.FreeAddress(); err != nil {
		return err
	}
	s.chapter("A real cluster on this machine")
	options := cluster.Options{BinDir: filepath.Dir(s.binary), StateDir: filepath.Join(s.dir, "cluster")}
	if s.steering == byExtender {
		options.Extenders = []schedulerv1.Extender{cluster.Extender("http://" + s.listen)}
		if s.board != nil {
			options.Extenders = append(options.Extenders, cluster.Extender("http://"+s.board.extender))
		}
	}
	if s.cluster, err = cluster.Start(ctx, options); err != nil {
		return err
	}
	if s.story, err = scenario.RequestSkew(ctx, s.cluster); err != nil {
		return err
	}
	s.say("%d nodes of 32 cores. By what pods ask for, %s look the emptiest; by what they use, they burn.", len(s.story.Nodes), strings.Join(s.story.Hot, " and "))
	s.say("Watch it yourself: kubectl --kubeconfig %s get pods -A -o wide", s.cluster.Kubeconfig())
	return s.serve(ctx)
}

// serve installs Evenkeel and starts it.
func (s *show) serve(ctx context.Context) error {
	access, err := evenkeel.Install(ctx, s.cluster)
	if err != nil {
		return err
	}
	steering, err := s.letSteer(ctx)
	if err != nil {
		return err
	}
	policy, err := writePolicy(ctx, s.dir)
	if err != nil {
		return err
	}
	s.server, err = evenkeel.Start(s.binary, filepath.Join(s.dir, "evenkeel.log"), append([]string{
		"serve", "--kubeconfig", access.Evenkeel, "--namespace", evenkeel.Namespace, "--policy-config-file", policy,
		"--descheduling-interval", "5s", "--leader-elect=false", "--listen-address", s.listen, "--metrics-address", s.metrics, "--v", "2",
	}, steering...)...)
	if err != nil {
		return err
	}
	if s.ui {
		s.say("Watch its page: %s/", evenkeel.Reports(s.listen))
	}
	if err := s.server.WaitServing(ctx, "http://"+s.metrics+"/livez"); err != nil || s.board == nil {
		return err
	}
	return s.board.watch(ctx, s, access.Extender, policy)
}

// before waits until metrics-server has measured every node, and draws the nodes.
func (s *show) before(ctx context.Context) error {
	if err := s.cluster.WaitMetrics(ctx); err != nil {
		return err
	}
	s.chapter("Before: real usage as metrics-server measures it")
	usage, err := s.cluster.MeasuredUsage(ctx)
	if err != nil {
		return err
	}
	s.bars(usage)
	s.watch, err = newWatch(ctx, s.cluster, s.story, s.say)
	return err
}

// planWait bounds the wait for the first plan. metrics-server keeps no history, so
// windows have to fill first.
const planWait = 3 * time.Minute

// cool waits for the plan. It prints the plan and each eviction and landing, until every
// node is below its line.
func (s *show) cool(ctx context.Context) error {
	s.chapter("The plan")
	s.say("Evenkeel watches until it is sure: 75 s of samples and three in a row above the line.")
	ctx, cancel := context.WithTimeout(ctx, planWait)
	defer cancel()
	for {
		usage, err := s.cluster.NodeUsage(ctx)
		if err != nil {
			return err
		}
		if s.watch.evictions() > 0 && s.hot(usage) == 0 && s.watch.settled() {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("nodes did not cool: %w; Evenkeel's log is in %s:\n%s", ctx.Err(), s.dir, tail(s.server.Log()))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// newPods shows the scheduling half: new pods are kept off hot nodes, too.
func (s *show) newPods(ctx context.Context) error {
	if s.steering != byExtender { // otherwise, only replacements are steered
		return nil
	}
	s.chapter("New pods go to cool nodes, too")
	err := s.cluster.Deploy(ctx, cluster.Workload{
		Namespace: "shop", Name: "new", Replicas: 6,
		Requests: cluster.Resources{CPU: "250m", Memory: "128Mi"}, Usage: cluster.Resources{CPU: "500m", Memory: "128Mi"},
	})
	if err != nil {
		return err
	}
	where, err := podsByNode(ctx, s.cluster, "shop", "new")
	if err != nil {
		return err
	}
	s.say("6 new pods of 250m requested and 500m used: %s", where)
	s.asked, err = s.cluster.ExtenderScored(ctx)
	return err
}

func (s *show) after(ctx context.Context) error {
	s.chapter("After")
	usage, err := s.cluster.NodeUsage(ctx)
	if err != nil {
		return err
	}
	s.bars(usage)
	return s.watch.compare(ctx, evenkeel.Reports(s.listen)+"/status")
}

// verdict prints a summary, and returns an error if the demo failed.
func (s *show) verdict() error {
	usage, err := s.cluster.NodeUsage(context.Background())
	if err != nil {
		return err
	}
	w := s.watch
	s.chapter("Summary")
	s.say("hot nodes 2 -> %d, peak %.1f%% -> %.1f%%, evictions %d (fewest possible %d), replacements on their planned node %d of %d, back on a hot node %d, in %v",
		s.hot(usage), s.story.HotPercent, peak(usage), w.evictions(), s.story.FewestEvictions, w.planned, w.landed(), w.boomerangs(),
		time.Since(s.started).Round(time.Second))
	var wrong []string
	for failed, what := range map[string]bool{
		"a node is above the line":                  s.hot(usage) > 0,
		"more than one eviction above the fewest":   w.evictions() > s.story.FewestEvictions+1,
		"a replacement went back to a hot node":     w.boomerangs() > 0,
		"a replacement is missing":                  w.landed() != w.evictions(),
		"kube-scheduler did not ask for scores":     s.steering == byExtender && !s.asked,
		"the ledger lost a move":                    w.recorded != w.evictions(),
		"a replacement is on neither plan nor cool": w.planned+w.cool != w.landed(),
	} {
		if what {
			wrong = append(wrong, failed)
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("the story did not end well: %s; logs are in %s", strings.Join(wrong, ", "), s.dir)
	}
	return nil
}

func (s *show) hot(usage map[string]cluster.NodeLoad) int {
	n := 0
	for _, load := range usage {
		if load.CPUPercent > s.story.EvictLinePercent {
			n++
		}
	}
	return n
}

func peak(usage map[string]cluster.NodeLoad) float64 {
	highest := 0.0
	for _, load := range usage {
		highest = max(highest, load.CPUPercent)
	}
	return highest
}

func (s *show) chapter(title string) {
	fmt.Fprintf(s.out, "\n%s\n", s.style.Paint(layout.Bold, title))
}

func (s *show) say(format string, args ...any) { fmt.Fprintf(s.out, "  "+format+"\n", args...) }

const barWidth = 50

// bars draws a bar for each node, with the evict line in it.
func (s *show) bars(usage map[string]cluster.NodeLoad) {
	line := s.story.EvictLinePercent
	for _, name := range s.story.Nodes {
		load := usage[name]
		pods := "" // metrics-server does not report the number of pods
		if load.Pods > 0 {
			pods = fmt.Sprintf("  %d pods", load.Pods)
		}
		bar := s.style.Paint(layout.BarColor(load.CPUPercent, line), layout.Bar(load.CPUPercent, line, barWidth))
		s.say("%s %s %5.1f%%%s", name, bar, load.CPUPercent, pods)
	}
}

func tail(log string) string {
	lines := strings.Split(strings.TrimSpace(log), "\n")
	return strings.Join(lines[max(len(lines)-15, 0):], "\n")
}

func decode(body string, into any) error {
	if err := json.Unmarshal([]byte(body), into); err != nil {
		return fmt.Errorf("reading evenkeel's status: %w", err)
	}
	return nil
}
