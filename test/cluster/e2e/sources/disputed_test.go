package sources

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/prometheus"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

// lyingPage serves node-exporter's series for all nodes of a story, with hot nodes as idle and the
// others at full load. It returns the page's address.
func lyingPage(t *testing.T, story *scenario.Story) string {
	t.Helper()
	began := time.Now()
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hot := map[string]bool{}
		for _, node := range story.Hot {
			hot[node] = true
		}
		for _, node := range story.Nodes {
			cores := 32.0
			if hot[node] {
				cores = 0.1
			}
			fmt.Fprintf(w, "node_cpu_seconds_total{node=%q,cpu=\"0\",mode=\"user\"} %f\n", node, cores*time.Since(began).Seconds())
			fmt.Fprintf(w, "node_memory_MemTotal_bytes{node=%q} %d\n", node, 256<<30)
			fmt.Fprintf(w, "node_memory_MemAvailable_bytes{node=%q} %d\n", node, 250<<30)
		}
	}))
	t.Cleanup(page.Close)
	return strings.TrimPrefix(page.URL, "http://")
}

// A tenant's pod exports series about every node. The exporters are scraped at their nodes'
// addresses, so the hot nodes are cooled as if the page did not exist, and the alert informs the
// administrator about the page.
//
//e2e:tier all
func TestDisputedUsageFiresAndHoldsNothingUp(t *testing.T) {
	f := stage.New(t)
	story, err := scenario.RequestSkew(t.Context(), f.Cluster, scenario.OwnAddresses())
	if err != nil {
		t.Fatal(err)
	}
	tenants, err := f.Client().CoreV1().Pods("shop").List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + story.Nodes[len(story.Nodes)-1]})
	if err != nil || len(tenants.Items) == 0 {
		t.Fatalf("no pod on the last node, which is not hot: %v", err)
	}
	server := f.Prometheus(prometheus.Config{
		NodeExporter: true,
		Processes:    []string{lyingPage(t, story)},
		Labels:       map[string]string{"namespace": "shop", "pod": tenants.Items[0].Name},
	}, story.Nodes...)
	f.Eventually(time.Minute, "the page's usage of all nodes in Prometheus", func(ctx context.Context) bool {
		told, err := server.Query(ctx, `sum by (node) (irate(node_cpu_seconds_total{job="processes"}[2m]))`)
		return err == nil && len(told) == len(story.Nodes)
	})

	mark, metrics := f.Mark(), f.FreeAddress()
	f.Serve(f.Policy(loadPolicy(prometheusSource(server.URL()), false)), "--metrics-address", metrics)
	evictions := wantCooled(t, f, story, mark)
	wantLanded(t, f, story, evictions)
	if got := chosen(f); got["Prometheus"] != len(story.Nodes) {
		t.Errorf("nodes by source: %v, want all from Prometheus", got)
	}
	const foreign = `evenkeel_usage_samples_skipped_total{cause="foreign",source="Prometheus"}`
	if f.Metric(metrics, foreign) == 0 {
		t.Errorf("%s is 0, although a page disputes every node", foreign)
	}
	f.Firing("a page disputes what the exporters measure", []string{"EvenkeelUsageDisputed"}, metrics)
}
