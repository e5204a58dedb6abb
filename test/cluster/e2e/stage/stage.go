// Package stage is the base of end-to-end tests: one real control plane per
// test binary, emptied before each case, with Evenkeel run as a process that
// has the rights of the shipped ServiceAccounts.
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

// shared is the control plane of all cases, and what every case needs of it.
var shared struct {
	cluster *cluster.Cluster
	// binDir is the folder of all binaries, and binary the program under test.
	binDir, binary string
	// listen is where kube-scheduler asks; a case's Evenkeel serves there.
	listen string
}

// Cluster is the control plane.
func Cluster() *cluster.Cluster { return shared.cluster }

// Binary is the program under test.
func Binary() string { return shared.binary }

// reportPort is the port on which a pod of Evenkeel serves its reports. It is forwarded
// to Reports.
const reportPort = 8889

// Listen is where kube-scheduler asks; a case's Evenkeel serves there.
func Listen() string { return shared.listen }

// Reports is the URL of the reports of that Evenkeel.
func Reports() string { return evenkeel.Reports(shared.listen) }

// Main runs a package's cases on a control plane of its own and returns the
// exit code.
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

// serve runs the cases, or those that come in.
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

// Build compiles the control plane and the programs under test, unless that was
// done for all lanes, and returns the folder of the binaries.
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

// Fixture is the cluster of a case, emptied before it, with Evenkeel's rights
// in place.
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

// Fast is a LoadPolicy with waits short enough for a test: metrics-server
// measures every ten seconds. Nodes and pods of a case are seconds old and count
// all the same. Cases have few owners, and may move all pods of one within minutes.
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

// RealUsage is a DeschedulerPolicy that runs RealUsageLowNodeUtilization alone.
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

// Start runs a command of Evenkeel with the rights of its ServiceAccount until
// the case ends; its log is shown when the case failed.
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

// Serve runs `evenkeel serve` where kube-scheduler sends requests, and waits
// until it answers.
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

// Eventually polls until the condition holds, or fails the case with what was
// expected.
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

// lookAround returns the state that a case waited for in vain: the nodes as a
// serving Evenkeel sees them, and as metrics-server measures them.
func (f *Fixture) lookAround() string {
	var b strings.Builder
	if status, body, err := evenkeel.Get(f.T.Context(), Reports()+"/nodes"); err == nil {
		fmt.Fprintf(&b, "GET /nodes answers %d: %s\n", status, body)
	}
	measured, err := f.MeasuredUsage(f.T.Context())
	fmt.Fprintf(&b, "metrics-server measures: %v, %v", measured, err)
	return b.String()
}

// Hot names the nodes whose true usage is above a line in percent, of CPU or
// memory.
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

// Evictions counts the evictions that the API server granted since the mark.
func (f *Fixture) Evictions(since cluster.AuditMark) int {
	f.T.Helper()
	requests, err := f.Audit(since)
	if err != nil {
		f.T.Fatal(err)
	}
	return len(requests.To("create", "pods/eviction").Where(func(r cluster.Request) bool { return r.Code == 201 && !r.DryRun }))
}

// Mark is the present end of the audit log.
func (f *Fixture) Mark() cluster.AuditMark {
	f.T.Helper()
	mark, err := f.AuditMark()
	if err != nil {
		f.T.Fatal(err)
	}
	return mark
}

// Pods lists the pods of namespace shop that a Deployment made.
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

// Place puts pods where a case wants them, and waits until metrics-server has
// measured all of them: an earlier reading, without some of them, would be in
// every window of the case.
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

// Workload is a Deployment in namespace shop.
func Workload(name string, requests, usage cluster.Resources) cluster.Workload {
	return cluster.Workload{Namespace: "shop", Name: name, Requests: requests, Usage: usage}
}

// On places the same number of pods on each of the nodes.
func On(pods int, nodes ...string) map[string]int {
	per := map[string]int{}
	for _, node := range nodes {
		per[node] = pods
	}
	return per
}
