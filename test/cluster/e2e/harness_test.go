// Package e2e holds the end-to-end tests: each starts from an empty cluster on one shared real control plane, runs Evenkeel
// as a process with the rights of the shipped ServiceAccounts, and asserts on what the cluster did.
package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// shared is the one control plane of all cases, and what every case needs of it.
var shared struct {
	cluster *cluster.Cluster
	binary  string
	// listen is where kube-scheduler asks; a case's Evenkeel serves there.
	listen string
}

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("the end-to-end tests start a whole cluster; they are left out with -short")
		os.Exit(0)
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := start(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := shared.cluster.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	return m.Run()
}

func start(ctx context.Context) error {
	binDir, err := cluster.DefaultBinDir(ctx)
	if err != nil {
		return err
	}
	if err := cluster.Build(ctx, binDir, os.Stderr); err != nil {
		return err
	}
	if shared.binary, err = evenkeel.Build(ctx, binDir); err != nil {
		return err
	}
	if shared.listen, err = evenkeel.FreeAddress(); err != nil {
		return err
	}
	shared.cluster, err = cluster.Start(ctx, cluster.Options{
		BinDir: binDir, Extenders: []schedulerv1.Extender{cluster.Extender("http://" + shared.listen)},
	})
	return err
}

// fixture is one case's cluster, emptied before it, with Evenkeel's rights in place.
type fixture struct {
	*cluster.Cluster
	t      *testing.T
	access evenkeel.Accesses
}

// newFixture empties the cluster and installs the shipped roles.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	c := shared.cluster
	if err := c.Reset(t.Context(), "shop", evenkeel.Namespace); err != nil {
		t.Fatal(err)
	}
	access, err := evenkeel.Install(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{Cluster: c, t: t, access: access}
}

// fast is a LoadPolicy whose waits fit a test: metrics-server measures every ten seconds.
const fast = `
---
apiVersion: evenkeel.io/v1alpha1
kind: LoadPolicy
usage: {sampleInterval: 5s, maxAge: 35s, observationPeriod: 25s}
hot: {windows: [avg_5m], consecutiveSamples: 2, minWindow: 15s}
lines:
  cpu: {low: 45, reject: 60, evict: 65, leave: 60}
  memory: {low: 45, reject: 60, evict: 65, leave: 60}
eviction: {ownerSettle: 0s, cycleDeadline: 3m}
`

// realUsage is a DeschedulerPolicy that runs RealUsageLowNodeUtilization alone.
const realUsage = `
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: evenkeel
  pluginConfig:
  - name: RealUsageLowNodeUtilization
    args: {}
  plugins:
    balance:
      enabled: [RealUsageLowNodeUtilization]
`

// policy writes a policy file and returns its path.
func (f *fixture) policy(documents ...string) string {
	f.t.Helper()
	path := filepath.Join(f.t.TempDir(), "policy.yaml")
	if err := os.WriteFile(path, []byte(strings.Join(documents, "\n")), 0o600); err != nil {
		f.t.Fatal(err)
	}
	return path
}

// start runs a command of Evenkeel with the rights of its ServiceAccount until the case ends; its log is shown when the
// case failed.
func (f *fixture) start(command string, args ...string) *evenkeel.Process {
	f.t.Helper()
	kubeconfig := f.access.Evenkeel
	if command == "extender" {
		kubeconfig = f.access.Extender
	}
	args = append([]string{command, "--kubeconfig", kubeconfig, "--namespace", evenkeel.Namespace, "--v", "2"}, args...)
	p, err := evenkeel.Start(shared.binary, filepath.Join(f.t.TempDir(), command+".log"), args...)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			f.t.Error(err)
		}
		if f.t.Failed() {
			f.t.Logf("log of evenkeel %s:\n%s", command, p.Log())
		}
	})
	return p
}

// serve runs `evenkeel serve` where kube-scheduler asks, and waits until it answers.
func (f *fixture) serve(policy string, args ...string) *evenkeel.Process {
	f.t.Helper()
	args = append([]string{
		"--policy-config-file", policy, "--descheduling-interval", "3s", "--leader-elect=false",
		"--listen-address", shared.listen, "--metrics-address", "0",
	}, args...)
	p := f.start("serve", args...)
	if err := p.WaitServing(f.t.Context(), "http://"+shared.listen+"/livez"); err != nil {
		f.t.Fatal(err)
	}
	return p
}

// eventually polls until the condition holds, or fails the case with what was wanted.
func (f *fixture) eventually(within time.Duration, want string, condition func(context.Context) bool) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), within)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for !condition(ctx) {
		select {
		case <-ctx.Done():
			f.t.Fatalf("not within %v: %s", within, want)
		case <-ticker.C:
		}
	}
}

// hot names the nodes whose true usage is above a line in percent, of CPU or memory.
func (f *fixture) hot(ctx context.Context, line float64) []string {
	f.t.Helper()
	usage, err := f.NodeUsage(ctx)
	if err != nil {
		f.t.Fatal(err)
	}
	var names []string
	for name, load := range usage {
		if load.CPUPercent > line || load.MemoryPercent > line {
			names = append(names, name)
		}
	}
	return names
}

// evictions counts the evictions that the API server granted since the mark.
func (f *fixture) evictions(since cluster.AuditMark) int {
	f.t.Helper()
	requests, err := f.Audit(since)
	if err != nil {
		f.t.Fatal(err)
	}
	return len(requests.To("create", "pods/eviction").Where(func(r cluster.Request) bool { return r.Code == 201 && !r.DryRun }))
}

// mark is the present end of the audit log.
func (f *fixture) mark() cluster.AuditMark {
	f.t.Helper()
	mark, err := f.AuditMark()
	if err != nil {
		f.t.Fatal(err)
	}
	return mark
}

// pods lists the pods of namespace shop that a Deployment made.
func (f *fixture) pods(ctx context.Context, deployment string) []v1.Pod {
	f.t.Helper()
	list, err := f.Client().CoreV1().Pods("shop").List(ctx, metav1.ListOptions{})
	if err != nil {
		f.t.Fatal(err)
	}
	var pods []v1.Pod
	for _, pod := range list.Items {
		if strings.HasPrefix(pod.Name, deployment+"-") {
			pods = append(pods, pod)
		}
	}
	return pods
}

// workload is a Deployment in namespace shop.
func workload(name string, requests, usage cluster.Resources) cluster.Workload {
	return cluster.Workload{Namespace: "shop", Name: name, Requests: requests, Usage: usage}
}

// on places the same number of pods on each of the nodes.
func on(pods int, nodes ...string) map[string]int {
	per := map[string]int{}
	for _, node := range nodes {
		per[node] = pods
	}
	return per
}
