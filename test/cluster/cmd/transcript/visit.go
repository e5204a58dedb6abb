package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/cmd/internal/workshop"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/prometheus"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

const (
	// listen is the address that kube-scheduler calls. reports is the default address at
	// which serve serves reports. Both are the same as in the documentation, so that readers
	// can repeat the commands.
	listen, reports = "127.0.0.1:8888", "127.0.0.1:8889"
	// evictPercent is the evict line of CPU in the policies below.
	evictPercent = 70
	// stepWithin is the time limit for a step.
	stepWithin = 10 * time.Minute
)

// policyOf is the policy of examples/minimal.yaml, with Prometheus as its
// source.
const policyOf = `apiVersion: evenkeel.io/v1alpha1
kind: LoadPolicy
usage:
  sources:
    - type: Prometheus
      prometheus:
        address: %s
lines:
  cpu: {evict: 70}
  memory: {evict: 80}
`

// visit is a new user's session on a cluster that has existed for a while.
type visit struct {
	*workshop.Workshop
	root   string
	typist typist
	story  *scenario.Story
	server *prometheus.Server
	done   written
	log    string // serve's log
}

// open builds the control plane, which a real user already has.
func open(ctx context.Context, root string, out, progress io.Writer) (*visit, error) {
	for _, address := range []string{listen, reports} {
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			return nil, fmt.Errorf("the transcript needs %s for itself: %w", address, err)
		}
		if err := listener.Close(); err != nil {
			return nil, fmt.Errorf("the transcript needs %s for itself: %w", address, err)
		}
	}
	w, err := workshop.Open(ctx, "transcript", progress)
	return &visit{Workshop: w, root: root, typist: typist{echo: out}}, err
}

// play performs all steps of a new user.
func (v *visit) play(ctx context.Context, settle time.Duration) (*written, error) {
	if err := v.furnish(ctx, settle); err != nil {
		return nil, err
	}
	for _, act := range []func(context.Context) error{v.build, v.top, v.plan, v.planByPrometheus, v.relieve, v.after} {
		limited, cancel := context.WithTimeout(ctx, stepWithin)
		err := act(limited)
		cancel()
		if err != nil {
			return nil, err
		}
	}
	return &v.done, nil
}

// furnish starts the cluster with hot nodes, metrics-server, Prometheus and Evenkeel's
// permissions, and waits until nodes and pods have existed for long enough.
func (v *visit) furnish(ctx context.Context, settle time.Duration) (err error) {
	if err := v.Start(ctx, cluster.Options{Extenders: []schedulerv1.Extender{cluster.Extender("http://" + listen)}}); err != nil {
		return err
	}
	if v.story, err = scenario.RequestSkew(ctx, v.Cluster, scenario.OwnAddresses()); err != nil {
		return err
	}
	placed := time.Now()
	folder := filepath.Join(v.Dir, "prometheus")
	v.typist.dir, v.typist.kubeconfig = filepath.Join(v.Dir, "user"), v.Cluster.Kubeconfig()
	v.log = filepath.Join(v.Dir, "serve.log")
	err = errors.Join(os.Mkdir(folder, 0o700), os.Mkdir(v.typist.dir, 0o700))
	for _, name := range []string{"bin", "examples"} {
		err = errors.Join(err, os.Symlink(filepath.Join(v.root, name), filepath.Join(v.typist.dir, name)))
	}
	if err != nil {
		return fmt.Errorf("making folders: %w", err)
	}
	config := prometheus.Config{Cluster: v.Cluster, Dir: folder, NodeExporter: true, History: time.Hour}
	if v.server, err = prometheus.Start(ctx, config, v.story.Nodes...); err != nil {
		return err
	}
	v.OnClose(v.server.Stop)
	if _, err := evenkeel.Install(ctx, v.Cluster); err != nil {
		return err
	}
	if err := v.Cluster.WaitMetrics(ctx); err != nil {
		return err
	}
	v.Tell("Waiting until nodes and pods are %v old, as on a cluster that was there before.", settle)
	if err := sleep(ctx, settle-time.Since(placed)); err != nil {
		return err
	}
	return v.count(ctx)
}

// count records how many nodes and pods the cluster has.
func (v *visit) count(ctx context.Context) error {
	version, err := v.Cluster.Client().Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("asking for the release: %w", err)
	}
	pods, err := v.Cluster.Client().CoreV1().Pods(v1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("counting pods: %w", err)
	}
	v.done.Release, v.done.Nodes, v.done.Pods = version.GitVersion, len(v.story.Nodes), len(pods.Items)
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// do types a command and records the step and its duration.
func (v *visit) do(ctx context.Context, s step) (output string, err error) {
	began := time.Now()
	s.Output, err = v.typist.run(ctx, s.Typed)
	s.Took = time.Since(began)
	v.done.Steps = append(v.done.Steps, s)
	return s.Output, err
}

func (v *visit) build(ctx context.Context) error {
	home := v.typist.dir
	v.typist.dir = v.root
	defer func() { v.typist.dir = home }()
	_, err := v.do(ctx, step{Title: "Build", Before: "How long this takes depends on what Go has compiled before.", Typed: "make build"})
	return err
}

func (v *visit) top(ctx context.Context) error {
	output, err := v.do(ctx, step{
		Title: "See which nodes are hot", Before: "One reading of metrics-server, with the kubeconfig that kubectl uses.",
		Typed: "bin/evenkeel top", AtMost: hotWithin, What: "hot nodes, after the build",
	})
	if err != nil {
		return err
	}
	return rowsOf(output, v.story.Hot, "hot")
}

func (v *visit) plan(ctx context.Context) error {
	return v.planned(ctx, step{
		Title: "See what would be done", Before: "metrics-server keeps no history, so `plan` watches before it decides. It changes nothing.",
		Typed: "bin/evenkeel plan --observe 90s --policy-config-file examples/minimal.yaml", AtMost: planWithin, What: "a plan with metrics-server",
	})
}

func (v *visit) planByPrometheus(ctx context.Context) error {
	content := fmt.Sprintf(policyOf, v.server.URL())
	if err := os.WriteFile(filepath.Join(v.typist.dir, "policy.yaml"), []byte(content), 0o600); err != nil {
		return fmt.Errorf("writing a policy: %w", err)
	}
	return v.planned(ctx, step{
		Title: "The same with Prometheus", Before: "Prometheus remembers, so there is nothing to wait for.", File: "policy.yaml", Content: content,
		Typed: "bin/evenkeel plan --policy-config-file policy.yaml", AtMost: planWithinByProm, What: "a plan with Prometheus",
	})
}

// planned types a plan command. The command's output must name the hot nodes and a pod to
// move.
func (v *visit) planned(ctx context.Context, s step) error {
	output, err := v.do(ctx, s)
	if err != nil {
		return err
	}
	if !strings.Contains(output, "hog-") {
		err = fmt.Errorf("the plan moves no hog:\n%s", output)
	}
	return errors.Join(err, rowsOf(output, v.story.Hot))
}

// relieve runs serve until no node's real usage is above the evict line.
func (v *visit) relieve(ctx context.Context) error {
	s := step{
		Title: "Have it done", Before: "kube-scheduler asks this process as its extender. It runs until no node is above the evict line any more.",
		Typed: "bin/evenkeel serve -n evenkeel --policy-config-file policy.yaml --descheduling-interval 15s" +
			" --listen-address " + listen + " --metrics-address 0",
		AtMost: reliefWithin, What: "relief, after the plan",
	}
	began := time.Now()
	serve, err := v.typist.start(context.WithoutCancel(ctx), s.Typed, v.log) // serve continues to run after the step
	if err != nil {
		return err
	}
	v.OnClose(serve.stop)
	for {
		usage, err := v.Cluster.NodeUsage(ctx)
		if err = errors.Join(err, serve.failure()); err != nil {
			return err
		}
		if hottest(usage) <= evictPercent {
			break
		}
		if err := sleep(ctx, 200*time.Millisecond); err != nil {
			return fmt.Errorf("nodes did not cool: %w", err)
		}
	}
	s.Took = time.Since(began)
	log, err := os.ReadFile(v.log)
	if err != nil {
		return fmt.Errorf("reading the log of serve: %w", err)
	}
	s.Output = evictions(string(log))
	fmt.Fprint(v.typist.echo, s.Output)
	v.done.Steps = append(v.done.Steps, s)
	return nil
}

func hottest(usage map[string]cluster.NodeLoad) (percent float64) {
	for _, load := range usage {
		percent = max(percent, load.CPUPercent)
	}
	return percent
}

// evictions returns only the lines of a log that report evictions.
func evictions(log string) string {
	var b strings.Builder
	for line := range strings.Lines(log) {
		if strings.Contains(line, `"Evicted pod"`) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// after shows the results.
func (v *visit) after(ctx context.Context) error {
	output, err := v.do(ctx, step{
		Title: "See what became of it", Before: "What the process that serves has watched, and what it did.",
		Typed: "bin/evenkeel top --extender-url http://" + reports,
	})
	if err != nil {
		return err
	}
	_, err = v.do(ctx, step{
		Title: "Who was moved", Before: "The ledger keeps each eviction with its reason and its outcome.", Typed: "bin/evenkeel history -n evenkeel --since 1h",
	})
	return errors.Join(err, rowsOf(output, v.story.Nodes))
}
