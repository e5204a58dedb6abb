// Package stage is the base of the end-to-end tests: one real control plane per test
// binary, which is emptied before each case. Evenkeel runs as a process with the
// permissions of the shipped ServiceAccounts.
package stage

import (
	"context"
	"flag"
	"fmt"
	"net/netip"
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
	"github.com/evenkeel/evenkeel/test/cluster/lane"
)

// shared holds the control plane of all cases, and what every case needs to use it.
var shared struct {
	cluster *cluster.Cluster
	// binDir is the folder with all binaries, binary the program under test.
	binDir, binary string
	// listen is the address that kube-scheduler calls. A case's Evenkeel serves there.
	listen string
}

// Cluster returns the control plane.
func Cluster() *cluster.Cluster { return shared.cluster }

// Binary returns the program under test.
func Binary() string { return shared.binary }

// reportPort is the port on which an Evenkeel pod serves its reports. It is forwarded to
// Reports.
const reportPort = 8889

// Listen returns the address that kube-scheduler calls. A case's Evenkeel serves there.
func Listen() string { return shared.listen }

// Reports returns the URL of that Evenkeel's reports.
func Reports() string { return evenkeel.Reports(shared.listen) }

// Main runs a package's cases on a separate control plane and returns the exit code.
func Main(ctx context.Context, m *testing.M) int {
	flag.Parse()
	if testing.Short() {
		fmt.Fprintln(os.Stderr, "the end-to-end tests start a whole cluster; they are left out with -short")
		return 0
	}
	return run(ctx, m, cluster.Options{})
}

func run(ctx context.Context, m *testing.M, options cluster.Options) int {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := start(ctx, options); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if err := shared.cluster.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	return serve(ctx, m)
}

// serve runs all cases, or those that command e2e sends.
func serve(ctx context.Context, m *testing.M) int {
	if lane.BinDir() == "" {
		return m.Run()
	}
	if err := lane.Serve(ctx, m, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// Build compiles the control plane and the programs under test, unless command e2e has
// already done that for all lanes. It returns the folder with the binaries.
func Build(ctx context.Context) (binDir string, err error) {
	if binDir = lane.BinDir(); binDir != "" {
		return binDir, nil
	}
	if binDir, err = cluster.DefaultBinDir(ctx); err != nil {
		return "", err
	}
	if err := cluster.Build(ctx, binDir, os.Stderr); err != nil {
		return "", err
	}
	if _, err := evenkeel.Build(ctx, binDir); err != nil {
		return "", err
	}
	return binDir, evenkeel.BuildSimulator(ctx, binDir)
}

func start(ctx context.Context, options cluster.Options) error {
	binDir, err := Build(ctx)
	if err != nil {
		return err
	}
	shared.binDir, shared.binary = binDir, evenkeel.Binary(binDir)
	if shared.listen, err = evenkeel.FreeAddress(); err != nil {
		return err
	}
	reports, err := netip.ParseAddrPort(strings.TrimPrefix(Reports(), "http://"))
	if err != nil {
		return fmt.Errorf("reading the address of reports: %w", err)
	}
	options.BinDir = binDir
	options.Extenders = []schedulerv1.Extender{cluster.Extender("http://" + shared.listen)}
	options.PodPorts = map[int]int{reportPort: int(reports.Port())}
	shared.cluster, err = cluster.Start(ctx, options)
	return err
}

// Fixture is a case's cluster, which was emptied before the case, with Evenkeel's
// permissions in place.
type Fixture struct {
	*cluster.Cluster
	T      *testing.T
	Access evenkeel.Accesses
}

// New empties the cluster and installs the shipped roles.
func New(t *testing.T) *Fixture {
	t.Helper()
	c := Cluster()
	if err := c.Reset(t.Context(), "shop", evenkeel.Namespace); err != nil {
		t.Fatal(err)
	}
	access, err := evenkeel.Install(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return &Fixture{Cluster: c, T: t, Access: access}
}

// Fast is a LoadPolicy with waiting times that are short enough for a test:
// metrics-server measures every ten seconds. The nodes and pods of a case count although
// they are only seconds old. Cases have few owners, and may move all pods of one within
// minutes.
const Fast = `
---
apiVersion: evenkeel.io/v1alpha1
kind: LoadPolicy
usage: {sampleInterval: 5s, maxAge: 35s, observationPeriod: 25s}
hot: {windows: [avg_5m], consecutiveSamples: 2, minWindow: 15s, startup: 0s}
lines:
  cpu: {low: 45, reject: 60, evict: 65, leave: 60}
  memory: {low: 45, reject: 60, evict: 65, leave: 60}
eviction: {maxMovesPerHourOfOwner: 0, ownerSettle: 0s, nodeSettle: 0s, cycleDeadline: 3m}
`

// RealUsage is a DeschedulerPolicy that runs only RealUsageLowNodeUtilization.
const RealUsage = `
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

// Policy writes a policy file and returns its path.
func (f *Fixture) Policy(documents ...string) string {
	f.T.Helper()
	path := filepath.Join(f.T.TempDir(), "policy.yaml")
	if err := os.WriteFile(path, []byte(strings.Join(documents, "\n")), 0o600); err != nil {
		f.T.Fatal(err)
	}
	return path
}

// Start runs an Evenkeel command with the permissions of its ServiceAccount until the
// case ends. If the case fails, the log is shown.
func (f *Fixture) Start(command string, args ...string) *evenkeel.Process {
	f.T.Helper()
	kubeconfig := f.Access.Evenkeel
	if command == "extender" {
		kubeconfig = f.Access.Extender
	}
	args = append([]string{command, "--kubeconfig", kubeconfig, "--namespace", evenkeel.Namespace, "--v", "2"}, args...)
	p, err := evenkeel.Start(Binary(), filepath.Join(f.T.TempDir(), command+".log"), args...)
	if err != nil {
		f.T.Fatal(err)
	}
	f.T.Cleanup(func() {
		if err := p.Stop(); err != nil {
			f.T.Error(err)
		}
		if f.T.Failed() {
			f.T.Logf("log of evenkeel %s:\n%s", command, p.Log())
		}
	})
	return p
}

// Serve runs `evenkeel serve` at the address that kube-scheduler calls, and waits until
// it answers.
func (f *Fixture) Serve(policy string, args ...string) *evenkeel.Process {
	f.T.Helper()
	args = append([]string{
		"--policy-config-file", policy, "--descheduling-interval", "3s", "--leader-elect=false",
		"--listen-address", Listen(), "--metrics-address", "0",
	}, args...)
	p := f.Start("serve", args...)
	if err := p.WaitServing(f.T.Context(), "http://"+Listen()+"/livez"); err != nil {
		f.T.Fatal(err)
	}
	return p
}

// Eventually polls until the condition holds. If it does not in time, it fails the case
// with a description of what was expected.
func (f *Fixture) Eventually(within time.Duration, want string, condition func(context.Context) bool) {
	f.T.Helper()
	ctx, cancel := context.WithTimeout(f.T.Context(), within)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for !condition(ctx) {
		select {
		case <-ctx.Done():
			f.T.Fatalf("not within %v: %s\n%s", within, want, f.lookAround())
		case <-ticker.C:
		}
	}
}

// lookAround describes the state when a case has waited in vain: the nodes as seen by a
// serving Evenkeel and as measured by metrics-server.
func (f *Fixture) lookAround() string {
	var b strings.Builder
	if status, body, err := evenkeel.Get(f.T.Context(), Reports()+"/nodes"); err == nil {
		fmt.Fprintf(&b, "GET /nodes answers %d: %s\n", status, body)
	}
	measured, err := f.MeasuredUsage(f.T.Context())
	fmt.Fprintf(&b, "metrics-server measures: %v, %v", measured, err)
	return b.String()
}

// Hot returns the names of the nodes whose true usage of CPU or memory is above a line in
// percent.
func (f *Fixture) Hot(ctx context.Context, line float64) []string {
	f.T.Helper()
	usage, err := f.NodeUsage(ctx)
	if ctx.Err() != nil {
		return []string{"not known in time"}
	}
	if err != nil {
		f.T.Fatal(err)
	}
	var names []string
	for name, load := range usage {
		if load.CPUPercent > line || load.MemoryPercent > line {
			names = append(names, name)
		}
	}
	return names
}

// Evictions returns the number of evictions that the API server has granted since the
// mark.
func (f *Fixture) Evictions(since cluster.AuditMark) int {
	f.T.Helper()
	requests, err := f.Audit(since)
	if err != nil {
		f.T.Fatal(err)
	}
	return len(requests.To("create", "pods/eviction").Where(func(r cluster.Request) bool { return r.Code == 201 && !r.DryRun }))
}

// Mark returns the current end of the audit log.
func (f *Fixture) Mark() cluster.AuditMark {
	f.T.Helper()
	mark, err := f.AuditMark()
	if err != nil {
		f.T.Fatal(err)
	}
	return mark
}

// Pods lists a Deployment's pods in namespace shop.
func (f *Fixture) Pods(ctx context.Context, deployment string) []v1.Pod {
	f.T.Helper()
	list, err := f.Client().CoreV1().Pods("shop").List(ctx, metav1.ListOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	var pods []v1.Pod
	for _, pod := range list.Items {
		if strings.HasPrefix(pod.Name, deployment+"-") {
			pods = append(pods, pod)
		}
	}
	return pods
}

// Place puts pods on the nodes that a case needs them on, and waits until metrics-server
// has measured all of them. Otherwise, an earlier reading without some of them would be
// part of every window in the case.
func (f *Fixture) Place(ctx context.Context, placements ...cluster.Placement) error {
	if err := f.Cluster.Place(ctx, placements...); err != nil {
		return err
	}
	if !f.Running(cluster.MetricsServer) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return f.WaitMetrics(ctx)
}

// Workload returns a Deployment in namespace shop.
func Workload(name string, requests, usage cluster.Resources) cluster.Workload {
	return cluster.Workload{Namespace: "shop", Name: name, Requests: requests, Usage: usage}
}

// On returns a placement with the same number of pods on each node.
func On(pods int, nodes ...string) map[string]int {
	per := map[string]int{}
	for _, node := range nodes {
		per[node] = pods
	}
	return per
}
