package earlier

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// mount is a folder with a policy file, laid out as the kubelet mounts a ConfigMap.
type mount struct {
	*stage.Fixture
	root     string
	versions int
}

func newMount(f *stage.Fixture, documents ...string) *mount {
	f.T.Helper()
	m := &mount{Fixture: f, root: f.T.TempDir()}
	m.swap(documents...)
	m.must(os.Symlink(filepath.Join("..data", "policy.yaml"), m.path()))
	return m
}

func (m *mount) path() string { return filepath.Join(m.root, "policy.yaml") }

func (m *mount) must(err error) {
	m.T.Helper()
	if err != nil {
		m.T.Fatal(err)
	}
}

// swap replaces the content with a single rename.
func (m *mount) swap(documents ...string) {
	m.T.Helper()
	m.versions++
	version := fmt.Sprintf("..version_%d", m.versions)
	m.must(os.Mkdir(filepath.Join(m.root, version), 0o755))
	m.must(os.WriteFile(filepath.Join(m.root, version, "policy.yaml"), []byte(strings.Join(documents, "\n")), 0o600))
	m.must(os.Symlink(version, filepath.Join(m.root, "..data_tmp")))
	m.must(os.Rename(filepath.Join(m.root, "..data_tmp"), filepath.Join(m.root, "..data")))
}

// waitGeneration waits until a process uses the policy with this generation number.
func (m *mount) waitGeneration(metrics string, number float64) {
	m.T.Helper()
	m.Eventually(2*time.Minute, fmt.Sprintf("policy %v at work", number), func(context.Context) bool {
		return m.Metric(metrics, "evenkeel_policy_generation") == number
	})
}

// waitCycles waits for n more cycles.
func (m *mount) waitCycles(metrics string, n float64) {
	m.T.Helper()
	cycles := func() float64 { return m.Metric(metrics, `evenkeel_cycles_total{result="success"}`) }
	until := cycles() + n
	m.Eventually(time.Minute, "further cycles", func(context.Context) bool { return cycles() >= until })
}

// waitEvent waits for an Event on the ConfigMap that pauses evictions, and
// returns its note.
func (m *mount) waitEvent(reason string) (note string) {
	m.T.Helper()
	m.Eventually(time.Minute, "an Event "+reason, func(ctx context.Context) bool {
		events, err := m.Client().EventsV1().Events(evenkeel.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			m.T.Fatal(err)
		}
		for i := range events.Items {
			if event := &events.Items[i]; event.Reason == reason && event.Regarding.Kind == "ConfigMap" {
				note = event.Note
				return true
			}
		}
		return false
	})
	return note
}

// fast is stage.Fast with another evict line of CPU and, optionally, other intervals of samples or
// evictions.
func fast(evict int, changes ...string) string {
	changes = append(changes, "cpu: {low: 45, reject: 60, evict: 65, leave: 60}",
		fmt.Sprintf("cpu: {low: 45, reject: %d, evict: %d, leave: %d}", evict-5, evict, evict-5))
	return strings.NewReplacer(changes...).Replace(stage.Fast)
}

// A running process follows changes to the policy file. With lower lines, it cools nodes that were
// not hot before, and it has data at all times. An invalid file is reported and changes nothing.
func TestPolicyFileIsReadAgain(t *testing.T) {
	f := stage.New(t)
	skew := f.Skew()
	const avg5m, avg1m = "windows: [avg_5m]", "windows: [avg_1m]" // a node that fills up becomes hot soon with these windows
	m := newMount(f, stage.RealUsage, fast(95, avg5m, avg1m))
	mark, metrics := f.Mark(), f.FreeAddress()
	f.Serve(m.path(), "--metrics-address", metrics)
	f.Eventually(2*time.Minute, "the nodes are measured", func(context.Context) bool { return f.Measured(80, skew.Hot...) })
	m.waitCycles(metrics, 2)
	if f.Evictions(mark) > 0 || f.Are("hot", skew.Hot...) {
		t.Fatal("nodes at 82 % are hot under a line of 95 %")
	}

	m.swap(stage.RealUsage, fast(65, avg5m, avg1m))
	m.waitGeneration(metrics, 2)
	if closed := f.Metric(metrics, `evenkeel_usage_insufficient{reason="usage_windows_filling"}`); closed != 0 {
		t.Error("other lines made the windows fill anew")
	}
	f.Eventually(2*time.Minute, "no node above 65 %", func(ctx context.Context) bool { return len(f.Hot(ctx, 65)) == 0 })
	m.waitEvent("PolicyReloaded")
	m.waitCycles(metrics, 2)
	if got := f.Evictions(mark); got > skew.Fewest+1 {
		t.Errorf("%d evictions, the fewest possible are %d", got, skew.Fewest)
	}

	m.swap(stage.RealUsage, strings.Replace(stage.Fast, "evict: 65", "evict: 650", 1))
	f.Eventually(time.Minute, "the wrong policy is counted", func(context.Context) bool {
		return f.Metric(metrics, `evenkeel_policy_loads_total{result="invalid"}`) == 1
	})
	if note := m.waitEvent("PolicyInvalid"); !strings.Contains(note, "lines[cpu].evict") || !strings.Contains(note, "650") {
		t.Errorf("the Event is %q, want the field and the value", note)
	}
	if f.Metric(metrics, "evenkeel_policy_generation") != 2 || f.Metric(metrics, "evenkeel_policy_last_load_successful") != 0 {
		t.Error("the metrics do not say that the policy before is at work and the file wrong")
	}
	late := stage.Workload("late", cluster.Resources{CPU: "250m", Memory: "128Mi"}, cluster.Resources{CPU: "2200m", Memory: "256Mi"})
	if err := f.Place(t.Context(), cluster.Placement{Workload: late, On: stage.On(10, skew.Nodes[2])}); err != nil {
		t.Fatal(err)
	}
	f.Eventually(5*time.Minute, "no node above 65 % by the policy before", func(ctx context.Context) bool { return len(f.Hot(ctx, 65)) == 0 })
}

// Other sources or another interval require new samples. Until there are enough of them,
// kube-scheduler gets answers based on the old samples, all nodes stay known, and nothing is
// evicted.
//
//e2e:tier all
func TestPolicyFileWithOtherSamples(t *testing.T) {
	f := stage.New(t)
	skew := f.Skew()
	m := newMount(f, stage.RealUsage, fast(95))
	mark, metrics := f.Mark(), f.FreeAddress()
	f.Serve(m.path(), "--metrics-address", metrics)
	f.Eventually(2*time.Minute, "the nodes are measured", func(context.Context) bool { return f.Measured(80, skew.Hot...) })
	m.waitCycles(metrics, 1)

	m.swap(stage.RealUsage, fast(65, "sampleInterval: 5s", "sampleInterval: 6s", "observationPeriod: 25s", "observationPeriod: 30s"))
	m.waitGeneration(metrics, 2)
	filling := func() bool {
		return f.Metric(metrics, `evenkeel_usage_insufficient{reason="usage_windows_filling"}`) == 1
	}
	f.Eventually(20*time.Second, "the gate is closed while the new samples are taken", func(context.Context) bool { return filling() })
	f.Eventually(3*time.Minute, "the nodes are hot by the new samples", func(ctx context.Context) bool {
		if f.Evictions(mark) > 0 && filling() {
			t.Error("evicted while the new samples were taken")
		}
		for node, state := range f.States(ctx) {
			if state == "unknown" {
				t.Errorf("%s is unknown while the policy changes", node)
			}
		}
		return f.Are("hot", skew.Hot...) || f.Evictions(mark) > 0
	})
	f.Eventually(2*time.Minute, "no node above 65 %", func(ctx context.Context) bool { return len(f.Hot(ctx, 65)) == 0 })
}

// A cycle uses one policy: a change during the cycle takes effect after it.
func TestPolicyFileChangesDuringACycle(t *testing.T) {
	f := stage.New(t)
	skew := f.Skew()
	m := newMount(f, stage.RealUsage, fast(65, "ownerSettle: 0s", "ownerSettle: 0s, interval: 4s"))
	mark, metrics := f.Mark(), f.FreeAddress()
	f.Serve(m.path(), "--metrics-address", metrics)
	f.Eventually(2*time.Minute, "the cycle evicts", func(context.Context) bool { return f.Evictions(mark) > 0 })
	m.swap(stage.RealUsage, fast(95))
	m.waitGeneration(metrics, 2)
	made := f.Evictions(mark)
	if made < skew.Fewest/2 {
		t.Errorf("%d evictions, the running cycle needs at least %d to cool one node", made, skew.Fewest/2)
	}
	m.waitCycles(metrics, 3)
	if got := f.Evictions(mark); got != made {
		t.Errorf("%d evictions by the policy before", got-made)
	}
}

// duplicates and taints return policies with upstream's plugins, limited to namespaces with a
// label.
func duplicates(namespaces string) string {
	return upstream("RemoveDuplicates", "balance", namespaces)
}

func taints(namespaces string) string {
	return upstream("RemovePodsViolatingNodeTaints", "deschedule", namespaces)
}

func upstream(plugin, point, namespaces string) string {
	return fmt.Sprintf(`
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: upstream
  pluginConfig:
  - name: DefaultEvictor
    args: {namespaceLabelSelector: {matchLabels: {kubernetes.io/metadata.name: %s}}}
  - name: %s
    args: {}
  plugins:
    %s: {enabled: [%s]}
`, namespaces, plugin, point, plugin)
}

// The framework's profiles are rebuilt on the existing watches if the policy gets another strategy,
// another namespace selector, or a strategy that reads usage although none did before.
//
//e2e:tier all
func TestPolicyFileWithOtherProfiles(t *testing.T) {
	f := stage.New(t)
	nodes, err := f.AddNodes(t.Context(), 4, cluster.NodeTemplate{})
	if err != nil {
		t.Fatal(err)
	}
	little := cluster.Resources{CPU: "50m", Memory: "64Mi"}
	err = f.Place(t.Context(),
		cluster.Placement{Workload: stage.Workload("base", little, little), On: stage.On(1, nodes...)},
		cluster.Placement{Workload: stage.Workload("twin", little, little), On: stage.On(6, nodes[0])},
		cluster.Placement{Workload: stage.Workload("stray", little, little), On: stage.On(1, nodes[3])})
	if err != nil {
		t.Fatal(err)
	}
	taint(f, nodes[3])
	on := func(workload, node string) (n int) {
		for _, pod := range f.Pods(t.Context(), workload) {
			if pod.Spec.NodeName == node {
				n++
			}
		}
		return n
	}
	m := newMount(f, duplicates("elsewhere"))
	mark, metrics := f.Mark(), f.FreeAddress()
	f.Start("run", "--policy-config-file", m.path(), "--descheduling-interval", "3s", "--leader-elect=false", "--metrics-address", metrics)
	f.Eventually(2*time.Minute, "the watches have delivered", func(ctx context.Context) bool {
		status, _, err := evenkeel.Get(ctx, "http://"+metrics+"/readyz")
		return err == nil && status == 200
	})
	m.waitCycles(metrics, 2)
	if got := f.Evictions(mark); got > 0 {
		t.Fatalf("%d evictions in a namespace that is not selected", got)
	}

	m.swap(duplicates("shop"))
	m.waitGeneration(metrics, 2)
	f.Eventually(time.Minute, "the twins are spread", func(context.Context) bool { return on("twin", nodes[0]) <= 2 })
	if on("stray", nodes[3]) != 1 {
		t.Error("the stray has left the tainted node by a strategy that is not enabled")
	}

	m.swap(taints("elsewhere"))
	m.waitGeneration(metrics, 3)
	m.waitCycles(metrics, 2)
	if on("stray", nodes[3]) != 1 {
		t.Error("the stray has left the tainted node: the selector is that of the policy before")
	}
	m.swap(taints("shop"))
	m.waitGeneration(metrics, 4)
	f.Eventually(time.Minute, "the stray has left the tainted node", func(context.Context) bool { return on("stray", nodes[3]) == 0 })

	m.swap(stage.RealUsage, stage.Impatient)
	m.waitGeneration(metrics, 5)
	f.Eventually(3*time.Minute, "usage is observed", func(context.Context) bool {
		return f.Metric(metrics, `evenkeel_nodes{state="cool"}`) >= 3 // the tainted node is empty by now
	})
}

func taint(f *stage.Fixture, node string) {
	f.T.Helper()
	patch := []byte(`{"spec":{"taints":[{"key":"maintenance","effect":"NoSchedule"}]}}`)
	_, err := f.Client().CoreV1().Nodes().Patch(f.T.Context(), node, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
}

// An extender that runs alone also follows the changed file.
func TestPolicyFileOfAnExtender(t *testing.T) {
	f := stage.New(t)
	skew := f.Skew()
	m := newMount(f, fast(95))
	metrics := f.FreeAddress()
	p := f.Start("extender", "--policy-config-file", m.path(), "--listen-address", stage.Listen(), "--metrics-address", metrics)
	if err := p.WaitServing(t.Context(), "http://"+stage.Listen()+"/livez"); err != nil {
		t.Fatal(err)
	}
	f.Eventually(2*time.Minute, "the nodes are known and measured", func(context.Context) bool {
		return f.Status(stage.Listen()).FreshNodes == len(skew.Nodes) && f.Measured(80, skew.Hot...)
	})
	if kept := f.Filter(stage.Listen(), skew.Nodes); len(kept) != len(skew.Nodes) {
		t.Fatalf("kept %v under a reject line of 90 %%, want all", kept)
	}
	m.swap(fast(65))
	m.waitGeneration(metrics, 2)
	if kept := f.Filter(stage.Listen(), skew.Nodes); len(kept) != len(skew.Nodes)-len(skew.Hot) {
		t.Errorf("kept %v under a reject line of 60 %%, want all but %v", kept, skew.Hot)
	}
	m.swap("kind: nonsense")
	f.Eventually(time.Minute, "the wrong policy is counted", func(context.Context) bool {
		return f.Metric(metrics, `evenkeel_policy_loads_total{result="invalid"}`) == 1
	})
	if kept := f.Filter(stage.Listen(), skew.Nodes); len(kept) != len(skew.Nodes)-len(skew.Hot) {
		t.Errorf("kept %v after the file was spoilt, want all but %v", kept, skew.Hot)
	}
}
