package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/testkit"
)

// livePolicy reads node usage from annotations, whose five-minute mean is available at once, and pod usage from the
// metrics API.
const livePolicy = `
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
  - name: evenkeel
    pluginConfig:
      - name: DefaultEvictor
        args: {minReplicas: 2, nodeFit: false}
      - name: RealUsageLowNodeUtilization
        args:
          evictableNamespaces: {exclude: [quiet]}
    plugins:
      balance: {enabled: [RealUsageLowNodeUtilization]}
---
apiVersion: evenkeel.io/v1alpha1
kind: LoadPolicy
usage:
  observationPeriod: 5s
  sources: [{type: Annotations, annotations: {unit: fraction}}, {type: MetricsServer}]
  sampleInterval: 5s
hot: {windows: [avg_5m], consecutiveSamples: 1, minWindow: 1s}
eviction: {breaker: {maxDrainingPercent: 100}}
nodePools:
  - name: batch
    selector: {matchLabels: {pool: batch}}
    lines: {cpu: {low: 60, reject: 85, evict: 90, leave: 85}}
`

// liveCluster is what the API server of a fake cluster lists: objects by path, and the metrics of
// its pods.
type liveCluster struct {
	t       *testing.T
	now     time.Time
	objects map[string][]any
	metrics []string
	pods    int
}

const (
	nodesPath  = "/api/v1/nodes"
	podsPath   = "/api/v1/pods"
	setsPath   = "/apis/apps/v1/replicasets"
	budgetPath = "/apis/policy/v1/poddisruptionbudgets"
)

// listKinds are the kinds of the lists that are not empty.
var listKinds = map[string]string{
	nodesPath:  `"kind":"NodeList","apiVersion":"v1",`,
	podsPath:   `"kind":"PodList","apiVersion":"v1",`,
	setsPath:   `"kind":"ReplicaSetList","apiVersion":"apps/v1",`,
	budgetPath: `"kind":"PodDisruptionBudgetList","apiVersion":"policy/v1",`,
}

func (c *liveCluster) add(path string, object any) { c.objects[path] = append(c.objects[path], object) }

// node adds a node with 10 cores and 64 GiB. Its usage is in percent, or -1 if it is not reported.
func (c *liveCluster) node(name string, cpu, memory int, change ...func(*v1.Node)) {
	list := v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("10"), v1.ResourceMemory: resource.MustParse("64Gi"), v1.ResourcePods: resource.MustParse("110"),
	}
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{v1.LabelHostname: name}, Annotations: map[string]string{}},
		Status:     v1.NodeStatus{Allocatable: list, Capacity: list, Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
	}
	if cpu >= 0 {
		stamp := c.now.UTC().Format("2006-01-02T15:04:05Z")
		node.Annotations["cpu_usage_avg_5m"] = fmt.Sprintf("%.5f,%s", float64(cpu)/100, stamp)
		node.Annotations["mem_usage_avg_5m"] = fmt.Sprintf("%.5f,%s", float64(memory)/100, stamp)
	}
	for _, change := range change {
		change(node)
	}
	c.add(nodesPath, node)
}

// owner adds a ReplicaSet with the given number of ready replicas. If allowed is not negative, it also adds a
// PodDisruptionBudget that allows this number of disruptions.
func (c *liveCluster) owner(namespace, name string, replicas int, allowed int32) {
	labels := map[string]string{"app": name}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	c.add(setsPath, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID(name), Generation: 1, CreationTimestamp: metav1.NewTime(c.now.Add(-24 * time.Hour)),
		},
		Spec:   appsv1.ReplicaSetSpec{Replicas: new(int32(replicas)), Selector: selector},
		Status: appsv1.ReplicaSetStatus{Replicas: int32(replicas), ReadyReplicas: int32(replicas), AvailableReplicas: int32(replicas), ObservedGeneration: 1},
	})
	if allowed >= 0 {
		c.budget(namespace, name, allowed)
	}
}

func (c *liveCluster) budget(namespace, name string, allowed int32) {
	c.add(budgetPath, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-" + strconv.Itoa(len(c.objects[budgetPath])), UID: types.UID(name), Generation: 1},
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}, MaxUnavailable: new(intstr.FromInt32(allowed)),
		},
		Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, CurrentHealthy: 5, DesiredHealthy: 5 - allowed, ExpectedPods: 5, ObservedGeneration: 1},
	})
}

// pod adds a pod of an owner with the given usage and requests of half as much.
func (c *liveCluster) pod(namespace, owner, node string, milli, mib int64, change ...func(*v1.Pod)) {
	name := fmt.Sprintf("%s-%02d", owner, c.pods)
	c.pods++
	started := metav1.NewTime(c.now.Add(-12 * time.Hour))
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID(name), CreationTimestamp: started, Labels: map[string]string{"app": owner},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: owner, UID: types.UID(owner), Controller: new(true)}},
		},
		Spec: v1.PodSpec{NodeName: node, SchedulerName: "default-scheduler", Containers: []v1.Container{{
			Name: "main", Image: "example.com/main",
			Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
				v1.ResourceCPU: *resource.NewMilliQuantity(milli/2, resource.DecimalSI), v1.ResourceMemory: *resource.NewQuantity(mib<<19, resource.BinarySI),
			}},
		}}},
		Status: v1.PodStatus{Phase: v1.PodRunning, StartTime: &started, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}},
	}
	for _, change := range change {
		change(pod)
	}
	c.add(podsPath, pod)
	if milli > 0 {
		c.metrics = append(c.metrics, fmt.Sprintf(`{"metadata":{"namespace":%q,"name":%q},"timestamp":"NOW","window":"60s","containers":[{"name":"main","usage":{"cpu":"%dm","memory":"%dMi"}}]}`,
			namespace, pod.Name, milli, mib))
	}
}

// kubeconfig starts the API server and returns a kubeconfig for it. Any write to the server fails the test.
func (c *liveCluster) kubeconfig() string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch query := r.URL.Query(); {
		case r.Method != http.MethodGet:
			c.t.Errorf("%s %s", r.Method, r.URL)
			w.WriteHeader(http.StatusForbidden)
		case query.Get("sendInitialEvents") != "":
			w.WriteHeader(http.StatusUnprocessableEntity)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422}`)
		case query.Get("watch") != "":
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case r.URL.Path == "/version":
			fmt.Fprint(w, `{"major":"1","minor":"36","gitVersion":"v1.36.0"}`)
		case r.URL.Path == "/api" || r.URL.Path == "/apis":
			fmt.Fprint(w, `{}`)
		case r.URL.Path == "/apis/metrics.k8s.io/v1beta1/pods":
			fmt.Fprintf(w, `{"items":[%s]}`, strings.ReplaceAll(strings.Join(c.metrics, ","), "NOW", time.Now().UTC().Format(time.RFC3339)))
		case strings.Contains(r.URL.Path, "/namespaces/"):
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		default:
			items, err := json.Marshal(append([]any{}, c.objects[r.URL.Path]...))
			if err != nil {
				c.t.Error(err)
			}
			fmt.Fprintf(w, `{%s"metadata":{"resourceVersion":"5"},"items":%s}`, listKinds[r.URL.Path], items)
		}
	}))
	c.t.Cleanup(server.CloseClientConnections)
	return c.write("kubeconfig", fmt.Sprintf("apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: %q}}]\n"+
		"contexts: [{name: c, context: {cluster: c}}]\ncurrent-context: c\n", server.URL))
}

func (c *liveCluster) write(name, text string) string {
	path := filepath.Join(c.t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

func labelled(key, value string) func(*v1.Node) {
	return func(n *v1.Node) { n.Labels[key] = value }
}

func tainted(key string) func(*v1.Node) {
	return func(n *v1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, v1.Taint{Key: key, Effect: v1.TaintEffectNoSchedule})
	}
}

func ownedBy(kind string) func(*v1.Pod) {
	return func(p *v1.Pod) { p.OwnerReferences[0].Kind = kind }
}

func priority(value int32) func(*v1.Pod) {
	return func(p *v1.Pod) { p.Spec.Priority = &value }
}

// crowded returns a cluster in which many pods stay, at least one for every possible reason.
func crowded(t *testing.T) *liveCluster {
	c := &liveCluster{t: t, now: time.Now(), objects: map[string][]any{}}
	c.node("hot-cpu", 92, 40)
	c.node("hot-memory", 35, 88)
	c.node("hot-fixed", 85, 30)
	c.node("hot-crowded", 97, 30)
	c.node("hot-leaving", 80, 30, tainted("ToBeDeletedByClusterAutoscaler"))
	c.node("batch", 82, 30, labelled("pool", "batch"))
	c.node("warm", 55, 40)
	c.node("cordoned", 5, 5, func(n *v1.Node) { n.Spec.Unschedulable = true })
	c.node("not-ready", 5, 5, func(n *v1.Node) { n.Status.Conditions[0].Status = v1.ConditionFalse })
	c.node("tainted", 5, 5, tainted("dedicated"))
	c.node("silent", -1, -1)
	c.node("cool-a", 12, 20)
	c.node("cool-b", 31, 30)
	c.node("cool-c", 40, 55, labelled("disk", "ssd"))
	c.owner("shop", "web", 12, 3)
	c.owner("shop", "api", 6, -1)
	c.owner("shop", "tight", 4, 0)
	c.owner("shop", "twice", 4, 1)
	c.budget("shop", "twice", 1)
	c.owner("shop", "single", 1, -1)
	c.owner("quiet", "calm", 5, -1)
	c.owner("lab", "ssd", 4, -1)
	c.owner("lab", "vip", 1, -1)
	c.owner("lab", "odd", 4, -1)
	for k := range 5 {
		c.pod("shop", "web", "hot-cpu", int64(300+170*k), int64(400+300*k))
	}
	c.pod("shop", "api", "hot-cpu", 900, 900, priority(100))
	c.pod("shop", "tight", "hot-cpu", 800, 500)
	c.pod("shop", "twice", "hot-cpu", 700, 500)
	c.pod("shop", "single", "hot-cpu", 400, 500)
	c.pod("quiet", "calm", "hot-cpu", 300, 300)
	c.pod("lab", "agent", "hot-cpu", 200, 100, ownedBy("DaemonSet"))
	c.pod("lab", "nightly", "hot-cpu", 350, 100, ownedBy("Job"))
	c.pod("lab", "odd", "hot-cpu", 250, 100, func(p *v1.Pod) { p.Spec.SchedulerName = "volcano" })
	c.pod("lab", "odd", "hot-cpu", 0, 100)
	c.pod("lab", "odd", "hot-cpu", 240, 100, func(p *v1.Pod) {
		p.Spec.Volumes = []v1.Volume{{Name: "scratch", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	})
	c.pod("lab", "bare", "hot-cpu", 230, 100, func(p *v1.Pod) { p.OwnerReferences = nil })
	c.pod("lab", "static", "hot-cpu", 220, 100, func(p *v1.Pod) { p.Annotations = map[string]string{"kubernetes.io/config.source": "file"} })
	c.pod("lab", "tiny", "hot-cpu", 8, 10)
	c.pod("shop", "api", "hot-memory", 400, 9000)
	c.pod("lab", "vip", "hot-memory", 300, 4000, priority(1000))
	c.pod("shop", "web", "hot-memory", 200, 2500)
	c.pod("lab", "agent", "hot-fixed", 4000, 100, ownedBy("DaemonSet"))
	c.pod("shop", "web", "hot-fixed", 600, 500)
	for range 3 {
		c.pod("lab", "ssd", "hot-crowded", 2900, 3000, func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} })
	}
	c.pod("shop", "web", "hot-leaving", 2000, 1000)
	c.pod("shop", "web", "batch", 2000, 1000)
	for k, node := range []string{"cool-a", "cool-b", "cool-c", "warm"} {
		c.pod("shop", "web", node, int64(500+200*k), 600)
	}
	c.complete()
	return c
}

// complete adds the missing pods of each ReplicaSet to a node without measurements.
func (c *liveCluster) complete() {
	pods := map[string]int{}
	for _, object := range c.objects[podsPath] {
		if pod := object.(*v1.Pod); len(pod.OwnerReferences) > 0 {
			pods[pod.OwnerReferences[0].Name]++
		}
	}
	for _, object := range c.objects[setsPath] {
		set := object.(*appsv1.ReplicaSet)
		for range int(*set.Spec.Replicas) - pods[set.Name] {
			c.pod(set.Namespace, set.Name, "silent", 0, 0)
		}
	}
}

// changing matches what differs between runs: times, ages and the port of the test's server.
var changing = regexp.MustCompile(`\b(age|measured)Seconds: \d+|\bsamplesOver: [1-9]\d*|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z|\b\d\d:\d\d UTC|127\.0\.0\.1:\d+`)

// The output of plan, explain and top for a live cluster stays the same: each move and each reason,
// for nodes and for pods. All commands observe at the same time, because each needs two samples.
func TestLiveDecisionsAreAsBefore(t *testing.T) {
	c := crowded(t)
	flags := []string{"--kubeconfig=" + c.kubeconfig(), "--policy-config-file=" + c.write("policy.yaml", livePolicy), "-o=json"}
	questions := []string{
		"plan", "top", "explain node hot-cpu", "explain node hot-crowded", "explain node batch",
		"explain pod shop/web-04", "explain pod shop/tight-06", "explain pod lab/ssd-23",
	}
	said, failed := make([][]byte, len(questions)), make([]error, len(questions))
	var all sync.WaitGroup
	for i, question := range questions {
		words := strings.Fields(question)
		command, _, err := newRoot().Find(words[:1])
		if err != nil {
			t.Fatal(err)
		}
		command.Parent().RemoveCommand(command) // a process can set up its logging flags only once
		args := append(words[1:], flags...)
		if question == "plan" {
			args = append(args, "--exit-code")
		}
		all.Go(func() {
			said[i], failed[i] = testkit.Printed(t.Context(), command, args...)
		})
	}
	all.Wait()
	var text strings.Builder
	for i, question := range questions {
		want := map[string]error{"plan": exit.ErrDiffers}[question] // plan exits with this error if there are moves
		if !errors.Is(failed[i], want) {
			t.Fatalf("%s: %v", question, failed[i])
		}
		text.WriteString(testkit.Facts(t, question+":", said[i]))
	}
	testkit.Decisions(t, *update, "live", changing.ReplaceAllString(text.String(), "…"))
}
