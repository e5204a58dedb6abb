package earlier

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
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

// memRealUsage replaces the configuration in the plugin's article if the article is missing.
const memRealUsage = `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection:
  leaderElect: false
clientConnection:
  kubeconfig: "/etc/kubernetes/scheduler.conf"
profiles:
- schedulerName: mem-real-usage-scheduler
  plugins:
    score:
      enabled:
      - name: MemRealUsage
      disabled:
      - name: "*"
  pluginConfig:
  - name: MemRealUsage
    args:
      prometheusApiAddr: http://10.96.0.102:9090
      queryMetricTimeSeconds: 10
      queryMetricIntervalSeconds: 10
`

// nginxMemScheduler replaces the Deployment in the article.
const nginxMemScheduler = `
kind: Deployment
apiVersion: apps/v1
metadata: {name: nginx-mem-scheduler, namespace: default, labels: {app: nginx}}
spec:
  replicas: 30
  selector: {matchLabels: {app: nginx}}
  template:
    metadata: {labels: {app: nginx}}
    spec:
      containers:
      - name: nginx
        image: nginx
        resources: {requests: {cpu: "50m", memory: "100Mi"}}
      schedulerName: mem-real-usage-scheduler
`

// recordedMemory is the query of MemRealUsage as its users record it with a rule.
const recordedMemory = `avg_over_time(((1 - node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes) * 100)[5m:1m])`

// The article's configuration and Deployment are used with only addresses changed. By requests, the
// loaded node is the emptiest, so the default kube-scheduler prefers it. MemRealUsage places none
// of the thirty pods there.
//
//	n0: 13 of 16 GiB = 81 % used, 0.5 requested: int(81) is the highest, 100 − (81−12)·100/(81−12) = 0
//	n1…n3: 2 of 16 GiB = 12.5 % used, 8 requested: int(12.5) is the lowest: 100
func TestMemRealUsage(t *testing.T) {
	f := stage.New(t)
	ctx := t.Context()
	nodes, err := f.AddNodes(ctx, 4, cluster.NodeTemplate{CPU: "16", Memory: "16Gi"})
	if err != nil {
		t.Fatal(err)
	}
	load := stage.Workload("load", cluster.Resources{CPU: "50m", Memory: "512Mi"}, cluster.Resources{CPU: "100m", Memory: "13Gi"})
	idle := stage.Workload("idle", cluster.Resources{CPU: "50m", Memory: "8Gi"}, cluster.Resources{CPU: "100m", Memory: "2Gi"})
	if err := f.Place(ctx, cluster.Placement{Workload: load, On: stage.On(1, nodes[0])}, cluster.Placement{Workload: idle, On: stage.On(1, nodes[1:]...)}); err != nil {
		t.Fatal(err)
	}
	server := f.Prometheus(prometheus.Config{
		NodeExporter: true, NodeLabel: true, Rules: map[string]string{"node_mem_usage_avg_5m": recordedMemory},
	})
	// The averages begin with the first scrapes. For a while, an idle node that was first scraped
	// before its pod ran differs from the other idle nodes.
	f.Eventually(6*time.Minute, "the rule to be recorded for every node, alike for those that are", func(ctx context.Context) bool {
		samples, err := server.Query(ctx, "node_mem_usage_avg_5m")
		alike := map[int]bool{}
		for _, sample := range samples {
			alike[int(sample.Value)] = true
		}
		return err == nil && len(samples) == len(nodes) && len(alike) == 2
	})
	config := article(t, "apiVersion: kubescheduler.config.k8s.io/v1", memRealUsage)
	config = replaced(t, config, "http://10.96.0.102:9090", server.URL())
	kubeconfig := filepath.Join(f.StateDir(), "kube-scheduler.kubeconfig")
	config = replaced(t, config, "/etc/kubernetes/scheduler.conf", kubeconfig)
	scheduler := startScheduler(f, kubeconfig, config)
	f.Eventually(time.Minute, "the plugin knows every node", knows(scheduler, len(nodes)))

	var deployment appsv1.Deployment
	if err := yaml.UnmarshalStrict([]byte(article(t, "kind: Deployment\napiVersion: apps/v1", nginxMemScheduler)), &deployment); err != nil {
		t.Fatal(err)
	}
	deployment.Namespace = "shop"
	if _, err := f.Client().AppsV1().Deployments("shop").Create(ctx, &deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	byNode := placed(f, deployment.Name, int(*deployment.Spec.Replicas))
	if byNode[nodes[0]] > 0 {
		t.Errorf("pods went to the loaded node: %v", byNode)
	}
	if len(byNode) < 3 {
		t.Errorf("pods went to %v, though the others are all alike", byNode)
	}
	t.Logf("pods by node: %v", byNode)

	// Without data, the original MemRealUsage rejected every pod. Evenkeel's is neutral, so pods
	// are placed.
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := scheduler.Stop(); err != nil {
		t.Error(err)
	}
	startScheduler(f, kubeconfig, config)
	blind := stage.Workload("blind", cluster.Resources{CPU: "50m"}, cluster.Resources{CPU: "50m"})
	blind.Replicas, blind.SchedulerName = 3, "mem-real-usage-scheduler"
	if err := f.Deploy(ctx, blind); err != nil {
		t.Error(err)
	}
}

// kube-scheduler runs Evenkeel's plugin instead of asking the extender, on a cluster
// whose requests hide its skew. There are as few evictions as with the extender, and
// every replacement lands on its planned node.
func TestRequestSkewWithThePlugin(t *testing.T) {
	f := stage.New(t)
	ctx := t.Context()
	story, err := scenario.RequestSkew(ctx, f.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	f.RestoreScheduler()
	if err := f.Shutdown(cluster.Scheduler); err != nil {
		t.Fatal(err)
	}
	policy, mark := f.Policy(stage.RealUsage, stage.Fast), f.Mark()
	kubeconfig, err := f.KubeconfigFor(ctx, evenkeel.Namespace, "evenkeel-scheduler")
	if err != nil {
		t.Fatal(err)
	}
	scheduler := startScheduler(f, kubeconfig, shippedScheduler(f, kubeconfig, policy))
	f.Eventually(time.Minute, "the plugin knows every node", knows(scheduler, len(story.Nodes)))
	f.Start("run", "--policy-config-file", policy, "--descheduling-interval", "3s", "--leader-elect=false", "--metrics-address", "0")
	f.Eventually(3*time.Minute, "no node above its line", func(ctx context.Context) bool { return len(f.Hot(ctx, story.EvictLinePercent)) == 0 })
	f.Eventually(time.Minute, "every pod ready", func(ctx context.Context) bool {
		return f.WaitReady(ctx, "shop", "hog") == nil && f.WaitReady(ctx, "shop", "web") == nil && f.WaitReady(ctx, "shop", "bg") == nil
	})
	f.Eventually(time.Minute, "every move landed", func(ctx context.Context) bool {
		document := stored(ctx, f)
		return document.In("Landed") == f.Evictions(mark)
	})
	evictions := f.Evictions(mark)
	if evictions > story.FewestEvictions+1 {
		t.Errorf("%d evictions, the fewest possible are %d", evictions, story.FewestEvictions)
	}
	exact, after := 0, f.PodsByUID(ctx)
	for _, move := range stored(ctx, f).Moves {
		node := after[move.Replacement].Spec.NodeName
		switch {
		case move.State != "Landed":
		case slices.Contains(story.Hot, node):
			t.Errorf("the replacement of %s went back to the hot node %s", move.Pod, node)
		case node == move.To:
			exact++
		}
	}
	if exact != evictions {
		t.Errorf("%d of %d replacements are on their planned node", exact, evictions)
	}
	t.Logf("evictions %d, fewest %d; %d on their planned node", evictions, story.FewestEvictions, exact)
	requests, err := f.Audit(mark)
	if err != nil {
		t.Fatal(err)
	}
	if refused := requests.By("system:serviceaccount:" + evenkeel.Namespace + ":evenkeel-scheduler").Forbidden(); len(refused) > 0 {
		t.Errorf("forbidden to the second scheduler:\n%v", refused)
	}
}

// shippedScheduler returns the configuration of the shipped second scheduler, but for the pods of
// the default scheduler.
func shippedScheduler(f *stage.Fixture, kubeconfig, policy string) string {
	f.T.Helper()
	root, err := evenkeel.Root(f.T.Context())
	if err != nil {
		f.T.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(root, "deploy", "overlays", "second-scheduler", "config.yaml"))
	if err != nil {
		f.T.Fatal(err)
	}
	var shipped v1.ConfigMap
	if err := yaml.UnmarshalStrict(content, &shipped); err != nil {
		f.T.Fatal(err)
	}
	config := replaced(f.T, shipped.Data["scheduler.yaml"], "schedulerName: evenkeel-scheduler", "schedulerName: "+v1.DefaultSchedulerName)
	config = replaced(f.T, config, "policyConfigFile: /etc/evenkeel/policy.yaml", "{policyConfigFile: "+policy+", namespace: "+evenkeel.Namespace+"}")
	return config + "\nclientConnection: {kubeconfig: " + kubeconfig + ", qps: 500, burst: 1000}\n"
}

// startScheduler runs kube-scheduler with the plugin until the case ends, as the article's
// Deployment does. Its log is printed if the case fails.
func startScheduler(f *stage.Fixture, kubeconfig, config string) *evenkeel.Process {
	f.T.Helper()
	binDir, err := cluster.DefaultBinDir(f.T.Context())
	if err != nil {
		f.T.Fatal(err)
	}
	binary, err := evenkeel.BuildScheduler(f.T.Context(), binDir)
	if err != nil {
		f.T.Fatal(err)
	}
	dir := f.T.TempDir()
	path := filepath.Join(dir, "scheduler.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		f.T.Fatal(err)
	}
	_, port, err := net.SplitHostPort(f.FreeAddress())
	if err != nil {
		f.T.Fatal(err)
	}
	p, err := evenkeel.Start(binary, filepath.Join(dir, "scheduler.log"),
		"--authentication-kubeconfig="+kubeconfig, "--authorization-kubeconfig="+kubeconfig, "--config="+path,
		"--bind-address=127.0.0.1", "--secure-port="+port, "--v=3")
	if err != nil {
		f.T.Fatal(err)
	}
	f.T.Cleanup(func() {
		if err := p.Stop(); err != nil {
			f.T.Error(err)
		}
		if f.T.Failed() {
			f.T.Logf("log of kube-scheduler with the plugin:\n%s", p.Log())
		}
	})
	return p
}

var observed = regexp.MustCompile(`"Observed".* fresh=(\d+)`)

// knows reports whether the plugin's newest observation includes the usage of the given number of
// nodes.
func knows(p *evenkeel.Process, nodes int) func(context.Context) bool {
	return func(context.Context) bool {
		all := observed.FindAllStringSubmatch(p.Log(), -1)
		return len(all) > 0 && all[len(all)-1][1] == strconv.Itoa(nodes)
	}
}

// placed waits until a Deployment's pods are bound and counts them by node.
func placed(f *stage.Fixture, deployment string, pods int) map[string]int {
	f.T.Helper()
	var byNode map[string]int
	f.Eventually(time.Minute, "every pod of "+deployment+" is placed", func(ctx context.Context) bool {
		byNode = map[string]int{}
		bound := 0
		for _, pod := range f.Pods(ctx, deployment) {
			if pod.Spec.NodeName != "" {
				byNode[pod.Spec.NodeName]++
				bound++
			}
		}
		return bound == pods
	})
	return byNode
}

// stored returns the stored ledger.
func stored(ctx context.Context, f *stage.Fixture) stage.Document {
	f.T.Helper()
	object, err := f.Client().CoreV1().ConfigMaps(evenkeel.Namespace).Get(ctx, stage.LedgerName, metav1.GetOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	document, err := stage.ReadDocument(object)
	if err != nil {
		f.T.Fatal(err)
	}
	return document
}

// article returns the block of the plugin's article that starts with begin, or otherwise if the
// article is missing.
func article(t *testing.T, begin, otherwise string) string {
	t.Helper()
	root, err := evenkeel.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "..", "shared", "earlier-systems", "mem-real-usage-scheduler.md"))
	if err != nil {
		return otherwise
	}
	for block := range strings.SplitSeq(string(text), "```") {
		if block, found := strings.CutPrefix(block, "yaml\n"+begin); found {
			return begin + block
		}
	}
	t.Fatalf("the article no longer has a block that starts with %q", begin)
	return ""
}

// replaced replaces text that must exist.
func replaced(t *testing.T, text, old, by string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("there is no %q in:\n%s", old, text)
	}
	return strings.ReplaceAll(text, old, by)
}

// craneProfile enables crane-scheduler's plugin as its users do, in a scheduler
// beside the cluster's own.
const craneProfile = `
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: %q}
profiles:
- schedulerName: crane-scheduler
  plugins:
    filter: {enabled: [{name: Dynamic}]}
    score: {enabled: [{name: Dynamic, weight: 3}]}
  pluginConfig:
  - name: Dynamic
    args: {policyConfigPath: %q}
`

// shortCranePolicy is a DynamicSchedulerPolicy with one limit and one weight.
const shortCranePolicy = `
apiVersion: scheduler.policy.crane.io/v1alpha1
kind: DynamicSchedulerPolicy
spec:
  syncPolicy: [{name: cpu_usage_avg_5m, period: 3m}]
  predicate: [{name: cpu_usage_avg_5m, maxLimitPecent: 0.65}]
  priority: [{name: cpu_usage_avg_5m, weight: 1}]
`

// Crane's plugin, with its own configuration and policy, uses the annotations
// that Crane's controller writes.
//
//	n0: 0.70 > 0.65: refused
//	n1: 0.50: score int((1−0.5)·100) = 50, n2: 0.10: score 90; times 3 that is 120 points apart
func TestDynamicPlugin(t *testing.T) {
	f := stage.New(t)
	ctx := t.Context()
	nodes, err := f.AddNodes(ctx, 3, cluster.NodeTemplate{CPU: "16", Memory: "16Gi"})
	if err != nil {
		t.Fatal(err)
	}
	china := time.FixedZone("CST", 8*60*60)
	for i, used := range []string{"0.70000", "0.50000", "0.10000"} {
		patch := fmt.Sprintf(`{"metadata": {"annotations": {"cpu_usage_avg_5m": "%s,%s"}}}`, used, time.Now().In(china).Format("2006-01-02T15:04:05Z"))
		if _, err := f.Client().CoreV1().Nodes().Patch(ctx, nodes[i], types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	kubeconfig := filepath.Join(f.StateDir(), "kube-scheduler.kubeconfig")
	scheduler := startScheduler(f, kubeconfig, fmt.Sprintf(craneProfile, kubeconfig, f.Policy(shortCranePolicy)))
	f.Eventually(time.Minute, "the plugin knows every node", knows(scheduler, len(nodes)))
	small := stage.Workload("small", cluster.Resources{CPU: "10m", Memory: "16Mi"}, cluster.Resources{CPU: "10m"})
	small.Replicas, small.SchedulerName = 3, "crane-scheduler"
	if err := f.Create(ctx, small); err != nil {
		t.Fatal(err)
	}
	if byNode := placed(f, "small", 3); byNode[nodes[2]] != 3 {
		t.Errorf("pods went to %v, want all on %s", byNode, nodes[2])
	}
}
