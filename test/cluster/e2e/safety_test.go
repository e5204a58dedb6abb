package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// The users of the shipped ServiceAccounts, as the audit log names them.
const (
	evenkeelUser = "system:serviceaccount:" + evenkeel.Namespace + ":evenkeel"
	extenderUser = "system:serviceaccount:" + evenkeel.Namespace + ":evenkeel-extender"
)

// mixed runs our plugin and three upstream ones. These cover other namespaces or cannot affect the
// pods of our plugin.
const mixed = `
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: mixed
  pluginConfig:
  - name: RemoveDuplicates
    args: {namespaces: {include: [twins]}}
  - name: RemovePodsViolatingNodeTaints
  - name: LowNodeUtilization
    args: {thresholds: {cpu: 45}, targetThresholds: {cpu: 60}}
  - name: RealUsageLowNodeUtilization
    args: {}
  plugins:
    deschedule:
      enabled: [RemovePodsViolatingNodeTaints]
    balance:
      enabled: [RemoveDuplicates, LowNodeUtilization, RealUsageLowNodeUtilization]
`

// agents returns a small pod on each of the nodes that must not be moved, as every real node has.
// metrics-server omits nodes that use nothing.
func agents(nodes ...string) cluster.Placement {
	agent := stage.Workload("agent", cluster.Resources{CPU: "10m"}, cluster.Resources{CPU: "10m", Memory: "16Mi"})
	agent.Adjust = func(template *v1.PodTemplateSpec) {
		template.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}}
		template.Spec.Volumes = []v1.Volume{{Name: "local", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	}
	return cluster.Placement{Workload: agent, On: stage.On(1, nodes...)}
}

// placeMixed creates a node with work for each plugin of mixed:
//
//	node-0  10 × hog   use 1200m, request 100m:  12 of 16 cores used = 75 %, RealUsageLowNodeUtilization
//	node-1   7 × twin  of one ReplicaSet:        RemoveDuplicates
//	node-2   7 × big   request 2 cores:          14 of 16 cores requested = 88 %, LowNodeUtilization
//	node-3   2 × stray                           tainted afterwards, RemovePodsViolatingNodeTaints
func (f *fixture) placeMixed() {
	f.T.Helper()
	nodes, err := f.AddNodes(f.T.Context(), 5, cluster.NodeTemplate{CPU: "16", Memory: "64Gi"})
	if err != nil {
		f.T.Fatal(err)
	}
	little := cluster.Resources{CPU: "50m", Memory: "64Mi"}
	twin := stage.Workload("twin", little, little)
	twin.Namespace = "twins"
	err = f.Place(f.T.Context(), agents(nodes...),
		cluster.Placement{Workload: stage.Workload("hog", cluster.Resources{CPU: "100m"}, cluster.Resources{CPU: "1200m", Memory: "64Mi"}), On: stage.On(10, nodes[0])},
		cluster.Placement{Workload: twin, On: stage.On(7, nodes[1])},
		cluster.Placement{Workload: stage.Workload("big", cluster.Resources{CPU: "2"}, little), On: stage.On(7, nodes[2])},
		cluster.Placement{Workload: stage.Workload("stray", little, little), On: stage.On(2, nodes[3])},
	)
	if err != nil {
		f.T.Fatal(err)
	}
	f.taint(nodes[3], noNewPods)
}

// noNewPods keeps new pods off a node but lets existing ones stay.
var noNewPods = v1.Taint{Key: "maintenance", Effect: v1.TaintEffectNoSchedule}

// taint replaces the taints of a node.
func (f *fixture) taint(node string, taint v1.Taint) {
	f.T.Helper()
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"taints": []v1.Taint{taint}}})
	if err != nil {
		f.T.Fatal(err)
	}
	_, err = f.Client().CoreV1().Nodes().Patch(f.T.Context(), node, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
}

// podNodes returns the node of every pod, by UID.
func (f *fixture) podNodes() map[types.UID]string {
	f.T.Helper()
	list, err := f.Client().CoreV1().Pods(metav1.NamespaceAll).List(f.T.Context(), metav1.ListOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	nodes := map[types.UID]string{}
	for i := range list.Items {
		nodes[list.Items[i].UID] = list.Items[i].Spec.NodeName
	}
	return nodes
}

// infoLine matches a log line of level info.
var infoLine = regexp.MustCompile(`(?m)^I\d{4} .*$`)

var wouldEvict = regexp.MustCompile(`"Would evict pod" .*\bpod="([^/"]+/([a-z]+)-[^"]*)"`)

// toldEvictions counts, by workload, the pods that a dry run reports as would-be evictions. It
// counts each pod once.
func toldEvictions(log string) map[string]int {
	seen, told := map[string]bool{}, map[string]int{}
	for _, match := range wouldEvict.FindAllStringSubmatch(log, -1) {
		if !seen[match[1]] {
			seen[match[1]] = true
			told[match[2]]++
		}
	}
	return told
}

// A dry run and a plan only report evictions. None of their requests changes anything, whichever
// plugin asked for the eviction.
func TestDryRunAndPlanChangeNothing(t *testing.T) {
	f := newFixture(t)
	f.placeMixed()
	before, mark := f.podNodes(), f.Mark()

	file := f.Policy(mixed, stage.Fast)
	serving := f.Serve(file, "--dry-run", "--leader-elect=true")
	running := f.Start("run", "--policy-config-file", file, "--dry-run", "--metrics-address", "0")
	planned := stage.Run(t.Context(), t, t.TempDir(), "plan", "--kubeconfig", f.Access.Evenkeel,
		"--namespace", evenkeel.Namespace, "--policy-config-file", file, "-o", "json")
	if planned.Code != 0 {
		t.Fatalf("plan: exit code %d\n%s", planned.Code, planned.Stderr)
	}
	if logged := infoLine.FindString(planned.Stderr); logged != "" {
		t.Errorf("plan logs without -v: %s", logged)
	}
	f.endsWell(running, time.Minute)
	// Moving two hogs lowers node-0 from 75 % to 60 %. RemoveDuplicates allows at most two of the
	// seven twins on each of the four nodes without the taint, and asks for five evictions. node-0
	// is hot, so four twins fit on the other two nodes, and a fifth would be one too many there.
	// LowNodeUtilization takes big pods until node-2 is at or under 60 % of 16 cores (9.6): four
	// stay and three go.
	want := map[string]int{"hog": 2, "twin": 4, "big": 3, "stray": 2}
	if diff := cmp.Diff(want, toldEvictions(running.Log())); diff != "" {
		t.Errorf("evictions that run --dry-run reports (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, historyOfDryRun(t, running)); diff != "" {
		t.Errorf("evictions that history lists (-want +got):\n%s", diff)
	}
	f.Eventually(time.Minute, "cycles of serve that would evict as much", func(context.Context) bool {
		told := toldEvictions(serving.Log()) // each cycle reports them again, and RemoveDuplicates takes twins in arbitrary order
		return told["hog"] >= want["hog"] && told["twin"] >= want["twin"] && told["big"] >= want["big"] && told["stray"] >= want["stray"]
	})

	requests, err := f.Audit(mark)
	if err != nil {
		t.Fatal(err)
	}
	requests = requests.By(evenkeelUser)
	if len(requests.To("watch", "pods")) == 0 {
		t.Fatal("the audit log has nothing of Evenkeel: the case proves nothing")
	}
	if writes := requests.Writes(); len(writes) > 0 {
		t.Errorf("requests that would change something:\n%v", writes)
	}
	if diff := cmp.Diff(before, f.podNodes()); diff != "" {
		t.Errorf("pods by UID and node (-before +after):\n%s", diff)
	}
	// Pods that a node's taints forbid are evicted wherever their replacements go, so the plan
	// omits them.
	f.checkPlannedMoves(planned.Stdout, map[string]int{"hog from node-0": 2, "twin from node-1": 4, "big from node-2": 3})
	f.checkRights(mark)
}

// checkPlannedMoves compares the moves in the output of `plan -o json`, counted by workload and
// node, with the wanted ones. The destination of each move must be another node.
func (f *fixture) checkPlannedMoves(printed string, want map[string]int) {
	f.T.Helper()
	var plan struct {
		Moves []struct{ Pod, From, To string }
	}
	if err := json.Unmarshal([]byte(printed), &plan); err != nil {
		f.T.Fatalf("reading the plan: %v\n%s", err, printed)
	}
	got := map[string]int{}
	for _, move := range plan.Moves {
		workload, _, _ := strings.Cut(move.Pod, "-")
		got[workload+" from "+move.From]++
		if move.To == "" || move.To == move.From {
			f.T.Errorf("planned %s from %q to %q, want another node", move.Pod, move.From, move.To)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		f.T.Errorf("planned moves (-want +got):\n%s", diff)
	}
}

// endsWell waits until a process has exited on its own with exit code 0.
func (f *fixture) endsWell(p *evenkeel.Process, within time.Duration) {
	f.T.Helper()
	ctx, cancel := context.WithTimeout(f.T.Context(), within)
	defer cancel()
	code, err := p.Wait(ctx)
	if err != nil {
		f.T.Fatal(err)
	}
	if code != 0 {
		f.T.Errorf("exit code %d, want 0", code)
	}
}

// placeHot makes node-0 of four nodes hot with pods of one Deployment. Six of them have to leave.
//
//	12 × 1200m = 14.4 of 16 cores = 90 %; under 65 % (10.4 cores) takes four, under 52 % (the policy below) six.
func (f *fixture) placeHot() {
	f.T.Helper()
	nodes, err := f.AddNodes(f.T.Context(), 4, cluster.NodeTemplate{CPU: "16", Memory: "64Gi"})
	if err != nil {
		f.T.Fatal(err)
	}
	hog := stage.Workload("hog", cluster.Resources{CPU: "100m"}, cluster.Resources{CPU: "1200m", Memory: "64Mi"})
	if err := f.Place(f.T.Context(), agents(nodes...), cluster.Placement{Workload: hog, On: stage.On(12, nodes[0])}); err != nil {
		f.T.Fatal(err)
	}
}

// paced waits three seconds between two evictions.
const paced = `
---
apiVersion: evenkeel.io/v1alpha1
kind: LoadPolicy
usage: {sampleInterval: 5s, maxAge: 35s, observationPeriod: 20s}
hot: {windows: [avg_5m], consecutiveSamples: 2, minWindow: 15s, startup: 0s}
lines:
  cpu: {low: 40, reject: 48, evict: 52, leave: 50}
eviction: {maxMovesPerHourOfOwner: 0, ownerSettle: 0s, nodeSettle: 0s, interval: 3s, cycleDeadline: 3m}
`

// Both the kill switch and a SIGTERM stop a cycle between two of its evictions. When the kill
// switch is lifted, a later cycle continues where the first one stopped. Meanwhile, the deleted
// ledger is recreated, which has no effect on the evictions.
func TestPauseAndStopInTheMiddleOfACycle(t *testing.T) {
	f := newFixture(t)
	f.placeHot()
	mark := f.Mark()
	metrics := f.FreeAddress()
	serving := f.Serve(f.Policy(stage.RealUsage, paced), "--leader-elect=true", "--metrics-address", metrics)
	cycles := func() int { return strings.Count(serving.Log(), `"Cycle ended"`) }

	f.Eventually(2*time.Minute, "two evictions", func(context.Context) bool { return f.Evictions(mark) >= 2 })
	f.Pause(true)
	pausedIn := cycles()
	f.Eventually(30*time.Second, "a cycle that finds the switch set", func(context.Context) bool { return cycles() >= pausedIn+1 })
	ledgers := f.Client().CoreV1().ConfigMaps(evenkeel.Namespace)
	if err := ledgers.Delete(t.Context(), stage.LedgerName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	f.Eventually(30*time.Second, "two more cycles that find the switch set", func(context.Context) bool { return cycles() >= pausedIn+3 })
	if stored, err := ledgers.Get(t.Context(), stage.LedgerName, metav1.GetOptions{}); err != nil || len(stored.Annotations) > 0 {
		t.Errorf("the ledger did not come back: %v", err)
	}
	f.Eventually(20*time.Second, "a metric that tells of it", func(context.Context) bool {
		return f.Metric(metrics, `evenkeel_evictions_paused{reason="paused"}`) == 1 && f.Metric(metrics, `evenkeel_evictions_paused{reason="pause_unreadable"}`) == 0
	})
	if got := f.Evictions(mark); got != 2 {
		t.Errorf("%d evictions, 2 of them before the switch was set", got)
	}
	if len(f.Hot(t.Context(), 52)) == 0 {
		t.Fatal("no node is still hot: there was no middle of a cycle")
	}

	f.Pause(false)
	f.Eventually(30*time.Second, "another eviction", func(context.Context) bool { return f.Evictions(mark) >= 3 })
	asked := time.Now()
	if err := serving.Stop(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(asked); took > 3*time.Second {
		t.Errorf("it took %v to stop", took)
	}
	f.endsWell(serving, time.Second)
	if got := f.Evictions(mark); got != 3 {
		t.Errorf("%d evictions, 3 of them before the process is stopping", got)
	}
	if len(f.Hot(t.Context(), 52)) == 0 {
		t.Error("no node is still hot: there was no middle of a cycle")
	}
	lease, err := f.Client().CoordinationV1().Leases(evenkeel.Namespace).Get(t.Context(), "evenkeel", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if holder := lease.Spec.HolderIdentity; holder != nil && *holder != "" {
		t.Errorf("the Lease is still held by %q", *holder)
	}
	f.checkRights(mark)
}

// silent accepts connections and never answers, like an API server behind a broken load balancer.
// It returns its URL and a channel that signals the first connection.
func silent(t *testing.T) (url string, connected <-chan struct{}) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	first := make(chan struct{}, 1)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return // the listener was closed
			}
			context.AfterFunc(t.Context(), func() { _ = connection.Close() })
			select {
			case first <- struct{}{}:
			default:
			}
		}
	}()
	t.Cleanup(func() { _ = listener.Close() })
	return "http://" + listener.Addr().String(), first
}

// A process that is stopped while it waits for its environment ends at once and without an error.
func TestStopWhileStarting(t *testing.T) {
	f := newFixture(t)
	if _, err := f.AddNodes(t.Context(), 2, cluster.NodeTemplate{}); err != nil {
		t.Fatal(err)
	}
	slow := strings.Replace(stage.Fast, "observationPeriod: 25s", "observationPeriod: 10m", 1)
	file := f.Policy(stage.RealUsage, slow)
	answering := []string{"--listen-address", "127.0.0.1:0"}
	for command, more := range map[string][]string{"run": nil, "serve": answering, "extender": answering} {
		t.Run(command+" before the API server answers", func(t *testing.T) {
			url, connected := silent(t)
			dir := t.TempDir()
			kubeconfig := filepath.Join(dir, "kubeconfig")
			writeFile(t, kubeconfig, kubeconfigOf(url))
			p, err := evenkeel.Start(stage.Binary(), filepath.Join(dir, "log"), append([]string{
				command, "--kubeconfig", kubeconfig, "--policy-config-file", file, "--metrics-address", "0",
			}, more...)...)
			if err != nil {
				t.Fatal(err)
			}
			<-connected
			stopsWell(t, p)
		})
	}
	t.Run("run while it observes", func(t *testing.T) {
		mark := f.Mark()
		p := f.Start("run", "--policy-config-file", file, "--metrics-address", "0")
		f.Eventually(30*time.Second, "the Lease", func(context.Context) bool { return f.granted(mark, "create", "leases") > 0 })
		stopsWell(t, p)
	})
	t.Run("serve while it observes", func(t *testing.T) {
		p := f.Serve(file)
		stopsWell(t, p)
	})
}

// granted counts Evenkeel's requests of one kind that the API server granted.
func (f *fixture) granted(since cluster.AuditMark, verb, resource string) int {
	f.T.Helper()
	requests, err := f.Audit(since)
	if err != nil {
		f.T.Fatal(err)
	}
	return len(requests.By(evenkeelUser).To(verb, resource).Where(func(r cluster.Request) bool { return r.Code < 300 }))
}

// stopsWell stops a process, which must exit within three seconds with exit code 0.
func stopsWell(t *testing.T, p *evenkeel.Process) {
	t.Helper()
	asked := time.Now()
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(asked); took > 3*time.Second {
		t.Errorf("it took %v to stop", took)
	}
	if code, err := p.Wait(t.Context()); err != nil || code != 0 {
		lines := strings.Split(strings.TrimSpace(p.Log()), "\n")
		t.Errorf("exit code %d, %v, want 0: %s", code, err, lines[len(lines)-1])
	}
}

// limited is stage.RealUsage with all limits of the DeschedulerPolicy.
const limited = stage.RealUsage + `
maxNoOfPodsToEvictPerNode: 2
maxNoOfPodsToEvictPerNamespace: 3
maxNoOfPodsToEvictTotal: 4
`

// unhurried allows any number of an owner's pods to be moved at once, so that only the limits
// apply.
var unhurried = strings.Replace(stage.Fast, "eviction: {", "eviction: {maxInFlightPercentOfOwner: 100, ", 1)

// The limits of the DeschedulerPolicy apply to our plugin as to any other. Each of four nodes needs
// four evictions:
//
//	10 × 1200m = 12 of 16 cores = 75 %; with a target of 50 % (8 cores), four have to go.
//
// Per cycle, at most two pods may leave a node, three a namespace, and four in all.
func TestLimitsOfTheDeschedulerPolicyHold(t *testing.T) {
	f := newFixture(t)
	nodes, err := f.AddNodes(t.Context(), 8, cluster.NodeTemplate{CPU: "16", Memory: "64Gi"})
	if err != nil {
		t.Fatal(err)
	}
	placements := []cluster.Placement{agents(nodes...)}
	// The nodes with pods of shop are the hottest, so they come first and reach the limit of their
	// namespace.
	for i, namespace := range []string{"shop", "shop", "bank", "bank"} {
		hog := stage.Workload(fmt.Sprintf("hog%d", i), cluster.Resources{CPU: "100m"}, cluster.Resources{CPU: "1200m", Memory: "64Mi"})
		if hog.Namespace = namespace; namespace == "shop" {
			hog.Usage.CPU = "1300m"
		}
		placements = append(placements, cluster.Placement{Workload: hog, On: stage.On(10, nodes[i])})
	}
	if err := f.Place(t.Context(), placements...); err != nil {
		t.Fatal(err)
	}
	homes := f.podHomes()
	mark := f.Mark()
	listen, err := evenkeel.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	strict := strings.NewReplacer("low: 45, reject: 60, evict: 65, leave: 60", "low: 30, reject: 45, evict: 50, leave: 45").Replace(unhurried)
	file := f.Policy(limited, strict)
	f.Start("extender", "--policy-config-file", file, "--listen-address", listen, "--metrics-address", "0")
	serving := f.Serve(file, "--descheduling-interval", "1h", "--leader-elect=true")
	f.Eventually(2*time.Minute, "the end of the first cycle", func(context.Context) bool { return strings.Contains(serving.Log(), `"Cycle ended"`) })

	requests, err := f.Audit(mark)
	if err != nil {
		t.Fatal(err)
	}
	perNode, perNamespace, total := map[string]int{}, map[string]int{}, 0
	for _, r := range requests.To("create", "pods/eviction").Where(func(r cluster.Request) bool { return r.Code == 201 }) {
		perNode[homes[r.Namespace+"/"+r.Name]]++
		perNamespace[r.Namespace]++
		total++
	}
	if got := highest(perNode); got != 2 {
		t.Errorf("evictions per node: %v, want the limit of 2 reached and kept", perNode)
	}
	if got := highest(perNamespace); got != 3 {
		t.Errorf("evictions per namespace: %v, want the limit of 3 reached and kept", perNamespace)
	}
	if total != 4 {
		t.Errorf("%d evictions, want the limit of 4 reached and kept", total)
	}
	if hot := f.Hot(t.Context(), 50); len(hot) < 4 {
		t.Errorf("hot nodes that are left: %v, want 4: the limits held nothing back", hot)
	}
	f.Eventually(30*time.Second, "Events about the evictions", func(context.Context) bool { return f.granted(mark, "create", "events") > 0 })
	f.checkRights(mark)
	f.checkRightsAreUsed(mark)
}

// podHomes returns every pod's node by namespace and name.
func (f *fixture) podHomes() map[string]string {
	f.T.Helper()
	list, err := f.Client().CoreV1().Pods(metav1.NamespaceAll).List(f.T.Context(), metav1.ListOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	homes := map[string]string{}
	for i := range list.Items {
		homes[list.Items[i].Namespace+"/"+list.Items[i].Name] = list.Items[i].Spec.NodeName
	}
	return homes
}

func highest(counts map[string]int) int {
	return slices.Max(append(slices.Collect(maps.Values(counts)), 0))
}

// kubeconfigOf returns a kubeconfig file for the given server, with an invalid token.
func kubeconfigOf(server string) string {
	return `
apiVersion: v1
kind: Config
current-context: c
clusters: [{name: c, cluster: {server: "` + server + `", insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: wrong}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
`
}

func writeFile(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
