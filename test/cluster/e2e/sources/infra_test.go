package sources

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/exporters"
	"github.com/evenkeel/evenkeel/test/cluster/fault"
	"github.com/evenkeel/evenkeel/test/cluster/faultproxy"
	"github.com/evenkeel/evenkeel/test/cluster/prometheus"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

// The sources that other cases read report true usage: a hot node uses 30.9 cores, any other 7.5.
func TestSourcesTellTheTruth(t *testing.T) {
	f := stage.New(t)
	story, err := scenario.RequestSkew(t.Context(), f.Cluster, scenario.OwnAddresses())
	if err != nil {
		t.Fatal(err)
	}
	t.Run("metrics-server still reaches kwok", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := f.WaitMetrics(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Run("prometheus", func(t *testing.T) { prometheusTellsTheTruth(t, f, story) })
	t.Run("kubelets", func(t *testing.T) { kubeletsTellTheTruth(t, f, story) })
	t.Run("statistics", func(t *testing.T) { statisticsTellTheTruth(t, f, story) })
	t.Run("annotations", func(t *testing.T) { annotationsTellTheTruth(t, f, story) })
}

// nodeExporterCores is a query that users of node-exporter could write.
const nodeExporterCores = `sum without (cpu, mode) (irate(node_cpu_seconds_total{mode!~"idle|iowait|steal"}[2m]))`

func prometheusTellsTheTruth(t *testing.T, f *stage.Fixture, story *scenario.Story) {
	if !prometheus.Installed() {
		t.Skip("prometheus is not in PATH")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	server, err := prometheus.Start(ctx, prometheus.Config{
		Cluster: f.Cluster, Dir: t.TempDir(), NodeExporter: true, NodeLabel: true, History: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}()
	if err := server.WaitScraped(ctx); err != nil {
		t.Fatal(err)
	}
	// A rate between two scrapes is wrong if one of them was late, but the node's next two scrapes
	// may be on time. If inTurn is set, nodes may be right in different responses. Otherwise all
	// must be right in the same one.
	check := func(name, query string, want map[bool]float64, inTurn bool) {
		t.Helper()
		told, last := map[string]bool{}, ""
		defer func() {
			if len(told) < len(story.Nodes) {
				t.Logf("%s: %d of %d nodes were right; the last answer: %s", name, len(told), len(story.Nodes), last)
			}
		}()
		f.Eventually(2*time.Minute, name+": the truth of every node", func(ctx context.Context) bool {
			samples, err := server.Query(ctx, query)
			if err != nil {
				last += "; " + err.Error()
				return false
			}
			if last = fmt.Sprint(samples); !inTurn {
				clear(told)
			}
			for _, s := range samples {
				node := s.Labels["node"]
				truth := want[slices.Contains(story.Hot, node)]
				if math.Abs(s.Value-truth) <= 0.02*truth {
					told[node] = true
				}
			}
			return len(samples) == len(story.Nodes) && len(told) == len(story.Nodes)
		})
	}
	truth := map[bool]float64{true: 30.9, false: 7.5}
	check("cores", nodeExporterCores, truth, true)
	check("cores over 5 minutes", "avg_over_time(("+nodeExporterCores+")[5m:30s])", truth, false)
	check("the highest 5 minutes of an hour", "max_over_time(avg_over_time(("+nodeExporterCores+")[5m:1m])[50m:5m])", truth, false)
	check("memory", "node_memory_MemTotal_bytes - node_memory_MemAvailable_bytes",
		map[bool]float64{true: 17 * 256 << 20, false: 15 * 256 << 20}, false)

	podQuery := `sum by (namespace, pod) (irate(container_cpu_usage_seconds_total{container!="",pod=~"hog-.*"}[2m]))`
	f.Eventually(time.Minute, "24 hogs of 2.2 cores", func(ctx context.Context) bool {
		pods, err := server.Query(ctx, podQuery)
		return err == nil && len(pods) == 24 && math.Abs(pods[0].Value-2.2) <= 0.05
	})
	if err := server.Restart(ctx); err != nil {
		t.Fatal(err)
	}
	check("memory after a restart", "avg_over_time((node_memory_MemTotal_bytes - node_memory_MemAvailable_bytes)[30m:1m])",
		map[bool]float64{true: 17 * 256 << 20, false: 15 * 256 << 20}, false)
	proxyStandsBetween(ctx, t, server)
}

func proxyStandsBetween(ctx context.Context, t *testing.T, server *prometheus.Server) {
	t.Helper()
	proxy, err := faultproxy.Start(ctx, server.URL())
	if err != nil {
		t.Fatal(err)
	}
	proxy.SetFault(fault.OfKind(fault.HalfMissing))
	_, body := ask(ctx, t, http.DefaultClient, proxy.URL()+"/api/v1/query?query=up", "")
	if got := strings.Count(body, `"metric"`); got != 6 {
		t.Errorf("%d series of 12 through the proxy, want 6: %s", got, body)
	}
	if err := proxy.Stop(); err != nil {
		t.Error(err)
	}
}

func kubeletsTellTheTruth(t *testing.T, f *stage.Fixture, story *scenario.Story) {
	ctx := t.Context()
	kubelets, err := exporters.StartKubelets(ctx, exporters.KubeletsConfig{Cluster: f.Cluster, Dir: t.TempDir(), Unmeasured: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	client := trusting(t, kubelets.CAFile())
	url := kubeletURL(f, story.Hot[0])
	token := reader(f, "stats-reader", "nodes/stats")

	if code, _ := ask(ctx, t, client, url+"/stats/summary", ""); code != http.StatusUnauthorized {
		t.Errorf("without a token: %d, want 401", code)
	}
	if code, _ := ask(ctx, t, client, url+"/metrics/resource", token); code != http.StatusForbidden {
		t.Errorf("metrics with the right to stats alone: %d, want 403", code)
	}
	code, body := ask(ctx, t, client, url+"/stats/summary", token)
	var summary stats.Summary
	if err := json.Unmarshal([]byte(body), &summary); err != nil || code != http.StatusOK {
		t.Fatalf("summary: %d, %v: %s", code, err, body)
	}
	if *summary.Node.CPU.UsageNanoCores != 30_900_000_000 || len(summary.Pods) != 17 || summary.Node.CPU.PSI.Some.Avg60 < 50 {
		t.Errorf("summary of a hot node: %s", body)
	}
	kubelets.Restart(story.Hot[0])
	_, body = ask(ctx, t, client, url+"/stats/summary", token)
	if err := json.Unmarshal([]byte(body), &summary); err != nil || *summary.Node.CPU.UsageNanoCores == 0 || *summary.Pods[0].CPU.UsageNanoCores != 0 {
		t.Errorf("summary after a restart, %v: %s", err, body)
	}
	kubelets.SetFault(fault.OfKind(fault.Negative), story.Hot[0])
	if _, body := ask(ctx, t, client, url+"/stats/summary", token); !strings.Contains(body, `"usageNanoCores":-1`) {
		t.Errorf("summary with a fault: %s", body)
	}
	kubelets.SetFault(fault.Fault{})
	metrics := reader(f, "metrics-reader", "nodes/metrics")
	if _, body := ask(ctx, t, client, url+"/metrics/resource", metrics); !strings.Contains(body, "\nnode_cpu_usage_seconds_total ") {
		t.Errorf("resource metrics: %s", body)
	}
	if err := kubelets.Stop(); err != nil {
		t.Error(err)
	}
}

func statisticsTellTheTruth(t *testing.T, f *stage.Fixture, story *scenario.Story) {
	ctx := t.Context()
	statistics, err := exporters.StartStatistics(ctx, exporters.StatisticsConfig{Cluster: f.Cluster})
	if err != nil {
		t.Fatal(err)
	}
	url := fmt.Sprintf("http://%s:%d/statistics", internalIP(f, story.Hot[0]), exporters.StatisticsPort)
	_, body := ask(ctx, t, http.DefaultClient, url, "")
	values := map[string]float64{}
	if err := json.Unmarshal([]byte(body), &values); err != nil {
		t.Fatalf("statistics: %v: %s", err, body)
	}
	for _, name := range []string{"cpu_usage_active", "cpu_usage_avg_5m", "cpu_usage_max_avg_1h", "cpu_usage_max_avg_1d"} {
		if math.Abs(values[name]-story.HotPercent) > 0.1 {
			t.Errorf("%s of a hot node is %.2f, want %.1f", name, values[name], story.HotPercent)
		}
	}
	undo, err := scenario.Spike(ctx, f.Cluster, "shop", "hog", 4)
	if err != nil {
		t.Fatal(err)
	}
	// 5 × 900m + 12 × 8800m = 110.1 of 32 cores.
	f.Eventually(5*time.Second, "the spike is seen", func(ctx context.Context) bool {
		_, body := ask(ctx, t, http.DefaultClient, url, "")
		return strings.Contains(body, `"cpu_usage_active":344.0625`)
	})
	if err := undo(ctx); err != nil {
		t.Error(err)
	}
	if hot := f.Hot(ctx, 100); len(hot) > 0 {
		t.Errorf("nodes %v are above 100 %% after the spike", hot)
	}
	if err := statistics.Stop(); err != nil {
		t.Error(err)
	}
}

func annotationsTellTheTruth(t *testing.T, f *stage.Fixture, story *scenario.Story) {
	ctx := t.Context()
	annotator, err := exporters.StartAnnotator(ctx, exporters.AnnotatorConfig{Cluster: f.Cluster})
	if err != nil {
		t.Fatal(err)
	}
	defer annotator.Stop()
	if err := annotator.Write(ctx); err != nil {
		t.Fatal(err)
	}
	value, stamp, _ := strings.Cut(nodeOf(f.T.Context(), f, story.Hot[0]).Annotations["cpu_usage_avg_5m"], ",")
	at, err := time.ParseInLocation("2006-01-02T15:04:05Z", stamp, exporters.Shanghai())
	if value != "0.96562" || err != nil || time.Since(at).Abs() > 10*time.Second {
		t.Errorf("annotation %q at %q, %v, want 0.96562 now by Shanghai's clock", value, stamp, err)
	}
	annotator.SetFault(fault.OfKind(fault.Missing))
	if err := annotator.Write(ctx); err != nil {
		t.Fatal(err)
	}
	if left := nodeOf(f.T.Context(), f, story.Hot[0]).Annotations["cpu_usage_avg_5m"]; left != "" {
		t.Errorf("annotation %q after its removal", left)
	}
}

func internalIP(f *stage.Fixture, node string) string {
	f.T.Helper()
	for _, address := range nodeOf(f.T.Context(), f, node).Status.Addresses {
		if address.Type == v1.NodeInternalIP {
			return address.Address
		}
	}
	f.T.Fatalf("node %s has no address", node)
	return ""
}

func kubeletURL(f *stage.Fixture, node string) string {
	f.T.Helper()
	return fmt.Sprintf("https://%s:%d", internalIP(f, node), nodeOf(f.T.Context(), f, node).Status.DaemonEndpoints.KubeletEndpoint.Port)
}

// reader creates a ServiceAccount that is allowed to get one resource, and returns its token.
func reader(f *stage.Fixture, name, resource string) string {
	f.T.Helper()
	ctx, client := f.T.Context(), f.Client()
	meta := metav1.ObjectMeta{Name: name}
	_, err := client.CoreV1().ServiceAccounts("shop").Create(ctx, &v1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{resource}, Verbs: []string{"get"}},
	}}
	if _, err := client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
		f.T.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: "shop"}},
	}
	if _, err := client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		f.T.Fatal(err)
	}
	f.T.Cleanup(func() {
		ctx := context.WithoutCancel(ctx)
		_ = client.RbacV1().ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{})
		_ = client.RbacV1().ClusterRoles().Delete(ctx, name, metav1.DeleteOptions{})
		_ = client.CoreV1().ServiceAccounts("shop").Delete(ctx, name, metav1.DeleteOptions{})
	})
	kubeconfig, err := f.KubeconfigFor(ctx, "shop", name)
	if err != nil {
		f.T.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		f.T.Fatal(err)
	}
	return config.BearerToken
}

// trusting returns a client that trusts only one CA.
func trusting(t *testing.T, caFile string) *http.Client {
	t.Helper()
	content, err := os.ReadFile(caFile)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(content)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 10 * time.Second}
}

func ask(ctx context.Context, t *testing.T, client *http.Client, url, token string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}
