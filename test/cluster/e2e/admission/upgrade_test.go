package admission

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// beforeTheChart is the commit of a version that was installed from manifests and answered
// kube-scheduler over plain HTTP.
const beforeTheChart = "a5a5f1c"

// unhurried is stage.Fast with one move per owner at a time and pauses between moves, so that the
// version can be changed between two moves.
var unhurried = strings.Replace(stage.Fast, "ownerSettle: 0s", "ownerSettle: 0s, maxInFlightPercentOfOwner: 0, interval: 2s", 1)

// An installation from the manifests of a version before the chart is turned into a chart
// installation, as docs/operations.md describes, while a pod that the old version evicted waits for
// a node. The new version reads the old one's ledger, sends that pod to its planned node over
// mutual TLS, and continues. No request of either version is denied, no move is made twice, and
// uninstalling leaves the user's objects.
//
//e2e:tier all
func TestManifestsBecomeTheChart(t *testing.T) {
	earlier := stage.At(t, beforeTheChart)
	f, story := untouched(t)
	h := newHelm(t, f)
	before, mark := h.inventory(), f.Mark()
	witness := f.Witness()
	old := h.installEarlier(f, earlier)
	inFlight := h.strandAMove(f, witness, old)
	h.allowed(f, mark, "evenkeel")

	upgraded := f.Mark()
	made := f.Certificates()
	notes := h.run("install", "evenkeel", h.chart, "--take-ownership", "--force", "--set", "steering.by=extender,replicas=0,deschedulingInterval=3s",
		"--set-file", "policyFile="+f.Policy(stage.RealUsage, unhurried))
	stop := h.start(f, "evenkeel")
	f.Eventually(time.Minute, "the new version to be ready", func(context.Context) bool {
		return f.Status(stage.Listen()).FreshNodes == len(story.Nodes)
	})
	h.ask(f, made, notes, "evenkeel")
	f.Eventually(2*time.Minute, "no node above its line", func(ctx context.Context) bool {
		return len(f.Hot(ctx, story.EvictLinePercent)) == 0
	})
	onPlan(t, f, story, mark)
	witness.Check(story.FewestEvictions + 1)
	moves := stored(t.Context(), t, f)
	for _, move := range inFlight {
		if !slices.ContainsFunc(moves, func(m stage.DocumentMove) bool { return m.PodUID == move.PodUID && m.State == "Landed" }) {
			t.Errorf("the move of %s, which the old version made, is lost", move.Pod)
		}
	}
	h.nothingSetAside(f)
	if writers := witness.Writers(); len(writers) != 2 {
		t.Errorf("the ledger was written by %v, want by the old version and then by the new one", writers)
	}
	// The old version has created the ledger and the Lease.
	h.checkRights(f, upgraded, "evenkeel", stage.Right{Verb: "create", Resource: "configmaps"}, stage.Right{Verb: "create", Group: "coordination.k8s.io", Resource: "leases"})
	t.Logf("figures: evictions %d before the upgrade with %d in flight, %d in all, fewest %d",
		evictionsBy(witness, "old"), len(inFlight), len(witness.Evictions()), story.FewestEvictions)

	stop()
	h.goes(f, made, before)
}

// installEarlier applies the manifests of an earlier version, configures kube-scheduler accordingly
// and runs the command of the Deployment.
func (h *helm) installEarlier(f *stage.Fixture, earlier evenkeel.Earlier) *evenkeel.Process {
	h.t.Helper()
	ctx := h.t.Context()
	objects, deployment := rendered(h.t, earlier.Dir, "serve")
	*deployment.Spec.Replicas = 0 // no kubelet would run them
	content, err := yaml.Marshal(deployment)
	if err != nil {
		h.t.Fatal(err)
	}
	workload := filepath.Join(h.t.TempDir(), "deployment.yaml")
	if err := os.WriteFile(workload, content, 0o600); err != nil {
		h.t.Fatal(err)
	}
	for _, file := range []string{objects, workload} {
		if err := evenkeel.Apply(ctx, f.Cluster, file, false); err != nil {
			h.t.Fatal(err)
		}
	}
	if f.Access.Evenkeel, err = f.KubeconfigFor(ctx, evenkeel.Namespace, "evenkeel"); err != nil {
		h.t.Fatal(err)
	}
	listen, metrics := f.FreeAddress(), f.FreeAddress()
	evenkeel.ReportThere(listen)
	shipped := deployment.Spec.Template.Spec.Containers[0].Args
	policy := f.Policy(stage.RealUsage, strings.Replace(unhurried, ", startup: 0s", "", 1)) // the earlier version has no startup setting
	args := []string{"--listen-address", listen, "--metrics-address", metrics}
	places := strings.NewReplacer("/etc/evenkeel/policy.yaml", policy, "interval=5m", "interval=3s")
	for _, arg := range shipped[1:] {
		args = append(args, places.Replace(arg))
	}
	process := f.StartAs("old", earlier.Binary, shipped[0], args...)
	if err := process.WaitServing(ctx, "http://"+metrics+"/readyz"); err != nil {
		h.t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(earlier.Dir, "deploy", "kube-scheduler.yaml"))
	var config schedulerv1.KubeSchedulerConfiguration
	if err == nil {
		err = yaml.UnmarshalStrict(text, &config)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	config.Extenders[0].URLPrefix = "http://" + listen
	if err := f.RestartScheduler(ctx, config.Extenders[0]); err != nil {
		h.t.Fatal(err)
	}
	return process
}

// strandAMove stops kube-scheduler, which is about to be reconfigured, and then
// the old version, once it has evicted a pod whose replacement therefore has no
// node.
func (h *helm) strandAMove(f *stage.Fixture, w *stage.Witness, old *evenkeel.Process) (inFlight []stage.DocumentMove) {
	h.t.Helper()
	f.Eventually(2*time.Minute, "a move that landed, and the next one", func(context.Context) bool {
		document, _ := w.Document()
		return document.In("Landed") > 0 && document.In("Intended")+document.In("Evicted") > 0
	})
	if err := f.Shutdown(cluster.Scheduler); err != nil {
		h.t.Fatal(err)
	}
	f.Eventually(time.Minute, "a replacement without a node", func(ctx context.Context) bool {
		for _, pod := range f.PodsByUID(ctx) {
			if pod.Spec.NodeName == "" {
				return true
			}
		}
		return false
	})
	if err := old.Stop(); err != nil {
		h.t.Fatal(err)
	}
	there := f.PodsByUID(h.t.Context())
	for _, move := range stored(h.t.Context(), h.t, f) {
		if _, stays := there[move.PodUID]; move.InFlight() && !stays {
			inFlight = append(inFlight, move)
		}
	}
	if len(inFlight) == 0 {
		h.t.Fatal("the old version left no move in flight: the case proves nothing")
	}
	return inFlight
}

// nothingSetAside checks that every stored ledger could be read.
func (h *helm) nothingSetAside(f *stage.Fixture) {
	h.t.Helper()
	list, err := f.Client().CoreV1().ConfigMaps(evenkeel.Namespace).List(h.t.Context(), metav1.ListOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	for i := range list.Items {
		if strings.HasPrefix(list.Items[i].Name, stage.LedgerSetAside) {
			h.t.Errorf("a ledger could not be read: there is a ConfigMap %s", list.Items[i].Name)
		}
	}
}

// evictionsBy counts the evictions requested by a program.
func evictionsBy(w *stage.Witness, program string) (n int) {
	for _, eviction := range w.Evictions() {
		if eviction.Program == program {
			n++
		}
	}
	return n
}
