package earlier

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/prometheus"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

const (
	nodeSyncUser     = "evenkeel-nodesync"
	pressureLabelKey = "status"
	pressureValue    = "presure"
	retiredValue     = "retired"
)

// busyRule returns a rule on the CPU usage of 32-core nodes, in percent.
func busyRule(threshold int) string {
	return fmt.Sprintf(`
  Node_cpu1:
    Promsql: 'sum without (cpu, mode) (irate(node_cpu_seconds_total{mode!~"idle|iowait|steal"}[2m])) / 32 * 100  # busy'
    Threshold: %d
`, threshold)
}

// availableRule is a rule on the nodes' available memory, in percent.
const availableRule = `
  memory.available_percent:
    Promsql: node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes * 100
    Threshold: 30
    LowerIsWorse: true
`

// presser is `evenkeel nodesync` in place of dynamicScheduler, on a cluster in which some nodes are
// under pressure.
type presser struct {
	*stage.Fixture
	rules, web, metrics string
	server              *prometheus.Server
	since               cluster.AuditMark
}

// press creates the cluster. By requests, hot is the emptiest node, but its CPU is at 82 %, as is
// that of the control plane and of marked, whose label somebody else has set. The CPU of the other
// nodes is at 6 %, and full uses 80 % of its memory.
//
//	hot node:   12 hog × 2200m = 26.4 of 32 cores = 82.5 %; requests 12 × 250m =  3 cores
//	other node: 10 bg  ×  200m =  2.0 of 32 cores =  6.3 %; requests 10 × 2    = 20 cores
const (
	hotNode, markedNode, fullNode, idleNode, controlNode = "node-0", "node-1", "node-2", "node-3", "control-0"
)

func press(t *testing.T, rules string) *presser {
	t.Helper()
	p := &presser{Fixture: stage.New(t), rules: filepath.Join(t.TempDir(), "rule.yaml")}
	if _, err := p.AddNodes(t.Context(), 4, cluster.NodeTemplate{}); err != nil {
		t.Fatal(err)
	}
	control := cluster.NodeTemplate{NamePrefix: "control-", Labels: map[string]string{"node-role.kubernetes.io/control-plane": ""}}
	if _, err := p.AddNodes(t.Context(), 1, control); err != nil {
		t.Fatal(err)
	}
	err := p.Place(t.Context(),
		cluster.Placement{
			Workload: stage.Workload("hog", cluster.Resources{CPU: "250m", Memory: "128Mi"}, cluster.Resources{CPU: "2200m", Memory: "1Gi"}),
			On:       stage.On(12, hotNode, markedNode, controlNode),
		},
		cluster.Placement{
			Workload: stage.Workload("bg", cluster.Resources{CPU: "2", Memory: "128Mi"}, cluster.Resources{CPU: "200m", Memory: "1Gi"}),
			On:       stage.On(10, markedNode, fullNode, idleNode, controlNode),
		},
		cluster.Placement{
			Workload: stage.Workload("cache", cluster.Resources{CPU: "100m", Memory: "1Gi"}, cluster.Resources{CPU: "100m", Memory: "200Gi"}),
			On:       stage.On(1, fullNode),
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	p.label(markedNode, retiredValue)
	p.server = p.Prometheus(prometheus.Config{NodeExporter: true, Instance: prometheus.ByName})
	p.write(rules)
	p.Component("nodesync-fence") // as in the shipped overlay
	p.since = p.Mark()
	p.start()
	return p
}

// start runs the command with dynamicScheduler's own flags and only the rights that the shipped
// overlay grants.
func (p *presser) start() {
	p.T.Helper()
	kubeconfig, err := p.KubeconfigFor(p.T.Context(), evenkeel.Namespace, nodeSyncUser)
	if err != nil {
		p.T.Fatal(err)
	}
	p.web, p.metrics = p.FreeAddress(), p.FreeAddress()
	process, err := evenkeel.Start(stage.Binary(), filepath.Join(p.T.TempDir(), "log"), "nodesync",
		"-kubeconfig", kubeconfig, "-prom", p.server.URL(), "-r", p.rules, "-s", "5", "-webaddr", p.web,
		"--metrics-address", p.metrics, "--v", "2")
	if err != nil {
		p.T.Fatal(err)
	}
	p.T.Cleanup(func() {
		if err := process.Stop(); err != nil {
			p.T.Error(err)
		}
		if p.T.Failed() {
			p.T.Logf("log of evenkeel nodesync:\n%s", process.Log())
		}
	})
}

// write replaces the rule file atomically.
func (p *presser) write(rules string) {
	p.T.Helper()
	next := p.rules + ".next"
	if err := os.WriteFile(next, []byte("PromJob: {Name: nodes}\nRulename:"+rules), 0o600); err != nil {
		p.T.Fatal(err)
	}
	if err := os.Rename(next, p.rules); err != nil {
		p.T.Fatal(err)
	}
}

func (p *presser) label(node, value string) {
	p.T.Helper()
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]string{pressureLabelKey: value}}})
	if err != nil {
		p.T.Fatal(err)
	}
	if _, err := p.Client().CoreV1().Nodes().Patch(p.T.Context(), node, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		p.T.Fatal(err)
	}
}

// wantPressed waits until exactly these nodes have the label and /nodes agrees.
func (p *presser) wantPressed(nodes ...string) {
	p.T.Helper()
	names, err := json.Marshal(append([]string{}, nodes...))
	if err != nil {
		p.T.Fatal(err)
	}
	want := fmt.Sprintf(`{"type":"Label type=presure Nodes","num":%d,"node_names":%s}`, len(nodes), names)
	p.Eventually(2*time.Minute, fmt.Sprintf("%s=%s on %v alone", pressureLabelKey, pressureValue, nodes), func(ctx context.Context) bool {
		list, err := p.Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: pressureLabelKey + "=" + pressureValue})
		if err != nil || len(list.Items) != len(nodes) {
			return false
		}
		for i := range list.Items {
			if !slices.Contains(nodes, list.Items[i].Name) {
				return false
			}
		}
		return p.page(ctx, "/nodes", "application/json") == want
	})
}

// page returns the process's response, or "" if its content type is another.
func (p *presser) page(ctx context.Context, path, contentType string) string {
	p.T.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.web+path, nil)
	if err != nil {
		p.T.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || !strings.HasPrefix(response.Header.Get("Content-Type"), contentType) {
		return fmt.Sprintf("%v, %s", err, response.Header)
	}
	return string(body)
}

// patches counts the process's patches of each node, and checks that every request of the process
// was allowed.
func (p *presser) patches() map[string]int {
	p.T.Helper()
	requests, err := p.Audit(p.since)
	if err != nil {
		p.T.Fatal(err)
	}
	own := requests.By("system:serviceaccount:" + evenkeel.Namespace + ":" + nodeSyncUser)
	if len(own) == 0 {
		p.T.Fatal("the audit log has no request of the process: the case proves nothing")
	}
	if forbidden := own.Forbidden(); len(forbidden) > 0 {
		p.T.Errorf("forbidden: %v", forbidden)
	}
	counts := map[string]int{}
	for _, request := range own.To("patch", "nodes") {
		counts[request.Name]++
	}
	return counts
}

func (p *presser) wantPatches(want map[string]int) {
	p.T.Helper()
	if got := p.patches(); fmt.Sprint(got) != fmt.Sprint(want) {
		p.T.Errorf("patches %v, want %v", got, want)
	}
	node, err := p.Client().CoreV1().Nodes().Get(p.T.Context(), markedNode, metav1.GetOptions{})
	if err != nil {
		p.T.Fatal(err)
	}
	if node.Labels[pressureLabelKey] != retiredValue {
		p.T.Errorf("somebody else's label is %q, want %q", node.Labels[pressureLabelKey], retiredValue)
	}
}

// A node that exceeds a rule's threshold has the label until it no longer does. Meanwhile, pods
// with the article's soft affinity go elsewhere. Labels set by others, the control plane, and nodes
// that already have the right label are not touched.
func TestPressureLabel(t *testing.T) {
	p := press(t, busyRule(70))
	p.wantPressed(hotNode)
	if got := p.page(t.Context(), "/status", ""); got != "ok" {
		t.Errorf("/status answers %q, want ok", got)
	}

	p.deploy("careless", nil)
	p.deploy("careful", softAffinity(t))
	if on := p.on("careless"); !slices.Equal(on, []string{hotNode}) {
		t.Errorf("without the affinity the pod is on %v; it was to show that %s is what kube-scheduler likes best", on, hotNode)
	}
	if on := p.on("careful"); slices.Contains(on, hotNode) {
		t.Errorf("with the affinity the pod is on %v", on)
	}
	p.wantPatches(map[string]int{hotNode: 1})

	if _, err := scenario.Spike(t.Context(), p.Cluster, "shop", "hog", 0.1); err != nil {
		t.Fatal(err)
	}
	p.wantPressed()
	p.wantPatches(map[string]int{hotNode: 2})
}

// Changes to the rule file take effect, including a change to "lower is worse". With an invalid
// file, the last valid rules stay in effect.
func TestPressureRulesChange(t *testing.T) {
	p := press(t, busyRule(95))
	p.wantPressed()
	p.write(busyRule(70))
	p.wantPressed(hotNode)
	p.write(busyRule(95) + availableRule)
	p.wantPressed(fullNode)
	p.write("\n  broken: {Promsql: up, Treshold: 1}\n")
	p.Eventually(time.Minute, "the broken file is refused", func(context.Context) bool {
		return p.Metric(p.metrics, `evenkeel_policy_loads_total{result="invalid"}`) > 0
	})
	p.wantPressed(fullNode)
	p.write(busyRule(70) + availableRule)
	p.wantPressed(hotNode, fullNode)
	p.wantPatches(map[string]int{hotNode: 3, fullNode: 1})
}

// deploy creates a Deployment of one pod and waits until it runs.
func (p *presser) deploy(name string, affinity *v1.Affinity) {
	p.T.Helper()
	workload := stage.Workload(name, cluster.Resources{CPU: "100m", Memory: "64Mi"}, cluster.Resources{CPU: "10m", Memory: "64Mi"})
	workload.Replicas, workload.Affinity = 1, affinity
	ctx, cancel := context.WithTimeout(p.T.Context(), 2*time.Minute)
	defer cancel()
	if err := p.Deploy(ctx, workload); err != nil {
		p.T.Fatal(err)
	}
}

// on returns the nodes of a Deployment's pods.
func (p *presser) on(deployment string) []string {
	p.T.Helper()
	var nodes []string
	for _, pod := range p.Pods(p.T.Context(), deployment) {
		nodes = append(nodes, pod.Spec.NodeName)
	}
	return nodes
}

// softAffinity returns the affinity of dynamicScheduler's article, read from the article if it
// exists.
func softAffinity(t *testing.T) *v1.Affinity {
	t.Helper()
	root, err := evenkeel.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text := `
template:
  spec:
    affinity:
      nodeAffinity:
        preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 20
          preference: {matchExpressions: [{key: status, operator: NotIn, values: [presure]}]}
`
	article, err := os.ReadFile(filepath.Join(root, "..", "shared", "earlier-systems", "dynamic-scheduler.md"))
	if err == nil {
		_, after, found := strings.Cut(string(article), "  template:\n")
		block, _, ended := strings.Cut(after, "```")
		if !found || !ended {
			t.Fatal("the article no longer has a template")
		}
		text = "  template:\n" + block
	}
	var deployment struct{ Template v1.PodTemplateSpec }
	if err := yaml.UnmarshalStrict([]byte(text), &deployment); err != nil {
		t.Fatal(err)
	}
	affinity := deployment.Template.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || len(affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution) != 1 {
		t.Fatalf("no soft affinity in %s", text)
	}
	return affinity
}
