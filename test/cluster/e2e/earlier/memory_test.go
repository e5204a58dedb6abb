package earlier

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/prometheus"
)

// usedMemoryPercent is a recording rule that users of the memory extender have: percent of the
// machine's memory, by node name.
const usedMemoryPercent = `(1 - node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes) * 100`

// Users of the memory extender start Evenkeel with their flags, after converting their own Policy.
// Of four nodes with 16 GiB, one uses 14 GiB and is rejected with the old extender's message. The
// others take pods.
//
//	n0: 14 of 16 GiB = 87.5 %: 87 >= 80, refused; score int((100-87)/10) = 1
//	n1: 10 of 16 GiB = 62.5 %:                    score int((100-62)/10) = 3
//	n2:  6 of 16 GiB = 37.5 %:                    score int((100-37)/10) = 6
//	n3:  2 of 16 GiB = 12.5 %:                    score int((100-12)/10) = 8
func TestMemoryPreset(t *testing.T) {
	f := stage.New(t)
	ctx := t.Context()
	nodes, err := f.AddNodes(ctx, 4, cluster.NodeTemplate{CPU: "16", Memory: "16Gi", OwnAddresses: true})
	if err != nil {
		t.Fatal(err)
	}
	used := stage.Workload("used", cluster.Resources{CPU: "50m", Memory: "64Mi"}, cluster.Resources{CPU: "50m", Memory: "2Gi"})
	if err := f.Place(ctx, cluster.Placement{Workload: used, On: map[string]int{nodes[0]: 7, nodes[1]: 5, nodes[2]: 3, nodes[3]: 1}}); err != nil {
		t.Fatal(err)
	}
	server := f.Prometheus(prometheus.Config{
		NodeExporter: true, Instance: prometheus.ByName, Rules: map[string]string{"HostMemoryUsagePercent": usedMemoryPercent},
	})
	truth := map[string]float64{nodes[0]: 87.5, nodes[1]: 62.5, nodes[2]: 37.5, nodes[3]: 12.5}
	f.Eventually(time.Minute, "the rule is recorded for every node", func(ctx context.Context) bool {
		samples, err := server.Query(ctx, "HostMemoryUsagePercent")
		return err == nil && len(samples) == len(nodes) && !slices.ContainsFunc(samples, func(s prometheus.Sample) bool {
			return math.Abs(s.Value-truth[s.Labels["instance"]]) > 0.1
		})
	})
	registerByPolicy(t, f)
	extender := f.Start("extender", "--prometheus_url="+server.URL(), "--prometheus_memory_threshold=80", "--listen_address="+stage.Listen(),
		"--log_request_body", "--log.level=debug", "--log.format=logger:stderr", "--metrics-address", "0")
	if err := extender.WaitServing(ctx, "http://"+stage.Listen()+"/healthcheck"); err != nil {
		t.Fatal(err)
	}
	f.Eventually(3*time.Minute, "every node is known", func(context.Context) bool {
		return f.Status(stage.Listen()).FreshNodes == len(nodes)
	})
	memoryAnswers(t, f, nodes)
	memoryPages(t, extender)
	memorySchedules(t, f, nodes)
	if log := extender.Log(); !strings.Contains(log, `"Request received"`) || !strings.Contains(log, `verb="prioritize"`) {
		t.Error("what kube-scheduler asked is not logged")
	}
}

// registerByPolicy configures kube-scheduler with the result of converting a Policy of the old
// kind.
func registerByPolicy(t *testing.T, f *stage.Fixture) {
	t.Helper()
	dir := t.TempDir()
	policy := fmt.Sprintf(`{"kind": "Policy", "apiVersion": "v1", "extenders": [{"urlPrefix": "http://%s/", "filterVerb": "filter",
		"prioritizeVerb": "prioritize", "weight": 1, "enableHttps": false, "nodeCacheCapable": true, "ignorable": true,
		"httpTimeout": 5000000000}]}`, stage.Listen())
	if err := os.WriteFile(filepath.Join(dir, "policy.cfg"), []byte(policy), 0o600); err != nil {
		t.Fatal(err)
	}
	converted := stage.Run(t.Context(), t, dir, "convert", "-f", "policy.cfg")
	if converted.Code != 0 {
		t.Fatalf("converting: %s", converted.Stderr)
	}
	var config schedulerv1.KubeSchedulerConfiguration
	if err := yaml.UnmarshalStrict([]byte(converted.Stdout), &config); err != nil {
		t.Fatalf("%v in\n%s", err, converted.Stdout)
	}
	if len(config.Extenders) != 1 {
		t.Fatalf("converted to %s", converted.Stdout)
	}
	f.RestoreScheduler()
	if err := f.RestartScheduler(t.Context(), config.Extenders...); err != nil {
		t.Fatal(err)
	}
}

// memoryAnswers sends requests to the extender directly.
func memoryAnswers(t *testing.T, f *stage.Fixture, nodes []string) {
	t.Helper()
	const high = "node memory load high"
	var filtered extenderv1.ExtenderFilterResult
	f.Ask("http://"+stage.Listen()+"/filter", append(slices.Clone(nodes), "stranger"), &filtered)
	want := extenderv1.ExtenderFilterResult{
		NodeNames:                  &[]string{nodes[1], nodes[2], nodes[3], "stranger"},
		FailedAndUnresolvableNodes: extenderv1.FailedNodesMap{nodes[0]: high},
	}
	if diff := cmp.Diff(want, filtered); diff != "" {
		t.Errorf("filter (-want +got):\n%s", diff)
	}
	filtered = extenderv1.ExtenderFilterResult{}
	f.Ask("http://"+stage.Listen()+"/filter", nodes[:1], &filtered)
	want = extenderv1.ExtenderFilterResult{NodeNames: &[]string{}, FailedAndUnresolvableNodes: extenderv1.FailedNodesMap{nodes[0]: high}}
	if diff := cmp.Diff(want, filtered); diff != "" {
		t.Errorf("filter of the loaded node alone (-want +got):\n%s", diff)
	}
	var scores extenderv1.HostPriorityList
	f.Ask("http://"+stage.Listen()+"/prioritize", append(slices.Clone(nodes), "stranger"), &scores)
	wantScores := extenderv1.HostPriorityList{
		{Host: nodes[0], Score: 1}, {Host: nodes[1], Score: 3}, {Host: nodes[2], Score: 6}, {Host: nodes[3], Score: 8}, {Host: "stranger", Score: 1},
	}
	if diff := cmp.Diff(wantScores, scores); diff != "" {
		t.Errorf("prioritize (-want +got):\n%s", diff)
	}
	response, err := http.Post("http://"+stage.Listen()+"/filter", "application/json", strings.NewReader(`{"Pod": {"metadata": {"name": "p"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	filtered = extenderv1.ExtenderFilterResult{}
	if err := json.Unmarshal(body, &filtered); err != nil || response.StatusCode != http.StatusOK || filtered.Error == "" {
		t.Errorf("filter without names: %s: %s", response.Status, body)
	}
}

func memoryPages(t *testing.T, extender *evenkeel.Process) {
	t.Helper()
	for path, want := range map[string]string{"/healthcheck": "OK\n", "/": "evenkeel extender", "/metrics": "evenkeel_extender_nodes_rejected_total{reason=\"load\"}"} {
		status, body, err := evenkeel.Get(t.Context(), "http://"+stage.Listen()+path)
		if err != nil || status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("%s: status %d, %v: %.200s", path, status, err, body)
		}
	}
	if extender.Ended() {
		t.Error("the extender has ended")
	}
}

// memorySchedules lets kube-scheduler place pods. A pod that can run only on the loaded node waits
// with the extender's message, and the others go elsewhere.
func memorySchedules(t *testing.T, f *stage.Fixture, nodes []string) {
	t.Helper()
	ctx := t.Context()
	small := cluster.Resources{CPU: "50m", Memory: "16Mi"}
	bound := stage.Workload("bound", small, small)
	bound.Replicas, bound.NodeSelector = 1, map[string]string{"kubernetes.io/hostname": nodes[0]}
	if err := f.Create(ctx, bound); err != nil {
		t.Fatal(err)
	}
	free := stage.Workload("free", small, small)
	free.Replicas = 12
	if err := f.Deploy(ctx, free); err != nil {
		t.Fatal(err)
	}
	for _, pod := range f.Pods(ctx, "free") {
		if pod.Spec.NodeName == nodes[0] {
			t.Errorf("pod %s went to the loaded node", pod.Name)
		}
	}
	f.Eventually(time.Minute, "the pod that only the loaded node may have waits for its memory", func(ctx context.Context) bool {
		events, err := f.Client().CoreV1().Events("shop").List(ctx, metav1.ListOptions{FieldSelector: "reason=FailedScheduling"})
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range events.Items {
			if strings.HasPrefix(event.InvolvedObject.Name, "bound-") &&
				strings.Contains(event.Message, "0/4 nodes are available: 1 node memory load high, 3 node(s) didn't match Pod's node affinity/selector.") {
				return true
			}
		}
		return false
	})
	for _, pod := range f.Pods(ctx, "bound") {
		if pod.Spec.NodeName != "" {
			t.Errorf("pod %s was placed on %s", pod.Name, pod.Spec.NodeName)
		}
	}
}
