package sources

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/exporters"
	"github.com/evenkeel/evenkeel/test/cluster/prometheus"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

// loadPolicy is a LoadPolicy with these sources that samples often and allows Deployments that are
// a minute old to be moved. It uses the shipped windows. With brief, which is for sources without
// windows, two consecutive samples are enough.
func loadPolicy(sources string, brief bool) string {
	text := "apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\n" +
		"lines: {cpu: {}, memory: {low: 45, reject: 60, evict: 65, leave: 60}}\n" +
		"usage: {sampleInterval: 5s, maxAge: 35s, observationPeriod: 25s, sources: [" + sources + "]}\n" +
		"eviction: {maxMovesPerHourOfOwner: 0, ownerSettle: 0s, cycleDeadline: 3m, interval: 1s}\n"
	if brief {
		return text + "hot: {consecutiveSamples: 2, minWindow: 15s, startup: 0s}\n"
	}
	return text + "hot: {minWindow: 10s, startup: 0s}\n"
}

func prometheusSource(url string) string {
	return fmt.Sprintf("{type: Prometheus, maxAge: 20s, timeout: 3s, prometheus: {address: %q}}", url)
}

// wantCooled waits until no node is above its line by true usage, and checks that this remains so
// for a while.
func wantCooled(t *testing.T, f *stage.Fixture, story *scenario.Story, mark cluster.AuditMark) (evictions int) {
	t.Helper()
	f.Eventually(2*time.Minute, "no node above its line", func(ctx context.Context) bool {
		return len(f.Hot(ctx, story.EvictLinePercent)) == 0 && settled(ctx, f)
	})
	wait(t, 12*time.Second) // several more cycles
	if hot := f.Hot(t.Context(), story.EvictLinePercent); len(hot) > 0 {
		t.Errorf("%v are above the line again", hot)
	}
	if evictions = f.Evictions(mark); evictions > story.FewestEvictions+1 {
		t.Errorf("%d evictions, the fewest possible are %d", evictions, story.FewestEvictions)
	}
	return evictions
}

// settled reports whether every pod is ready.
func settled(ctx context.Context, f *stage.Fixture) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for _, name := range []string{"hog", "web", "bg"} {
		if f.WaitReady(ctx, "shop", name) != nil {
			return false
		}
	}
	return true
}

// wantLanded checks that every move of the serving process landed on its planned node.
func wantLanded(t *testing.T, f *stage.Fixture, story *scenario.Story, evictions int) {
	t.Helper()
	planned := 0
	for _, move := range f.Moves() {
		if move.State != "Landed" || slices.Contains(story.Hot, move.Node) {
			t.Errorf("move of %s: %s on %q", move.Pod, move.State, move.Node)
		}
		if move.Node == move.To {
			planned++
		}
	}
	t.Logf("evictions %d, fewest %d; %d replacements on their planned node", evictions, story.FewestEvictions, planned)
	if planned != evictions {
		t.Errorf("%d of %d replacements are on their planned node", planned, evictions)
	}
}

// chosen counts the nodes by the source of their usage.
func chosen(f *stage.Fixture) map[string]int {
	f.T.Helper()
	var nodes []struct{ Source, State string }
	f.Fetch(stage.Reports()+"/nodes", &nodes)
	counts := map[string]int{}
	for _, node := range nodes {
		if node.State != "unknown" {
			counts[node.Source]++
		}
	}
	return counts
}

// Prometheus provides the windows from the start, so the case uses the shipped windows and queries
// without waiting. The policy file contains only a LoadPolicy.
func TestPrometheusCoolsRequestSkew(t *testing.T) {
	f := stage.New(t)
	story, err := scenario.RequestSkew(t.Context(), f.Cluster, scenario.OwnAddresses())
	if err != nil {
		t.Fatal(err)
	}
	server := f.Prometheus(prometheus.Config{NodeExporter: true}, story.Nodes...)
	mark := f.Mark()
	f.Serve(f.Policy(loadPolicy(prometheusSource(server.URL()), false)))
	evictions := wantCooled(t, f, story, mark)
	wantLanded(t, f, story, evictions)
	if got := chosen(f); got["Prometheus"] != len(story.Nodes) {
		t.Errorf("nodes by source: %v, want all from Prometheus", got)
	}
}

// A Job runs beside a separate extender. Because of Prometheus, its first cycle can decide.
//
//e2e:tier all
func TestPrometheusInAJob(t *testing.T) {
	type skew func(context.Context, *cluster.Cluster, ...scenario.Option) (*scenario.Story, error)
	for name, place := range map[string]skew{"request-skew": scenario.RequestSkew, "memory-hot": scenario.MemorySkew} {
		t.Run(name, func(t *testing.T) {
			f := stage.New(t)
			story, err := place(t.Context(), f.Cluster, scenario.OwnAddresses())
			if err != nil {
				t.Fatal(err)
			}
			server := f.Prometheus(prometheus.Config{NodeExporter: true}, story.Nodes...)
			mark, policy := f.Mark(), f.Policy(stage.RealUsage, "---\n"+loadPolicy(prometheusSource(server.URL()), false))
			startExtender(t, f, policy)
			began := time.Now()
			job := f.Start("run", "--policy-config-file", policy, "--metrics-address", "0", "--extender-url", "http://"+stage.Listen())
			f.Eventually(20*time.Second, "the first eviction, long before a window could have filled here", func(context.Context) bool {
				return f.Evictions(mark) > 0
			})
			first := time.Since(began)
			if code, err := job.Wait(t.Context()); err != nil || code != 0 {
				t.Fatalf("the Job ended with code %d, %v\n%s", code, err, job.Log())
			}
			t.Logf("first eviction %.1f s after the start; evictions %d, fewest %d", first.Seconds(), wantCooled(t, f, story, mark), story.FewestEvictions)
		})
	}
}

// Prometheus stops in the middle of a cycle and returns later. Meanwhile, usage comes from
// metrics-server, and nothing is moved twice.
//
//e2e:tier all
func TestPrometheusStopsMidway(t *testing.T) {
	f := stage.New(t)
	story, err := scenario.RequestSkew(t.Context(), f.Cluster, scenario.OwnAddresses())
	if err != nil {
		t.Fatal(err)
	}
	server := f.Prometheus(prometheus.Config{NodeExporter: true}, story.Nodes...)
	if err := f.WaitMetrics(t.Context()); err != nil {
		t.Fatal(err)
	}
	mark := f.Mark()
	f.Serve(f.Policy(stage.RealUsage, "---\n"+loadPolicy(prometheusSource(server.URL())+", {type: MetricsServer}", false)))
	f.Eventually(time.Minute, "the first eviction", func(context.Context) bool { return f.Evictions(mark) > 0 })
	if n := f.Evictions(mark); n >= story.FewestEvictions {
		t.Fatalf("%d evictions already: nothing is mid-way", n)
	}
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	f.Eventually(time.Minute, "every node known by metrics-server", func(context.Context) bool {
		return chosen(f)["MetricsServer"] == len(story.Nodes)
	})
	evictions := wantCooled(t, f, story, mark)
	if err := server.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.Eventually(time.Minute, "every node known by Prometheus again", func(context.Context) bool {
		return chosen(f)["Prometheus"] == len(story.Nodes)
	})
	if again := wantCooled(t, f, story, mark); again != evictions {
		t.Errorf("%d evictions after Prometheus came back", again-evictions)
	}
	wantLanded(t, f, story, evictions)
}

// Each source of node usage leads to the same skew being cooled: kubelets alone, the other sources
// together with metrics-server, because they do not report pods.
//
//e2e:tier all
func TestNodeSourcesCoolRequestSkew(t *testing.T) {
	for name, tc := range map[string]struct {
		source, pods string
		start        func(*testing.T, *stage.Fixture) (setting string)
	}{
		"Kubelet":     {source: "Kubelet", start: plainKubelets},
		"NodeMetrics": {source: "NodeMetrics", pods: ", {type: MetricsServer}", start: startStatistics},
		"Annotations": {source: "Annotations", pods: ", {type: MetricsServer}", start: startAnnotator},
	} {
		t.Run(name, func(t *testing.T) {
			f := stage.New(t)
			story, err := scenario.RequestSkew(t.Context(), f.Cluster, scenario.OwnAddresses())
			if err != nil {
				t.Fatal(err)
			}
			if err := f.WaitMetrics(t.Context()); err != nil {
				t.Fatal(err)
			}
			setting := tc.start(t, f)
			mark := f.Mark()
			f.Serve(f.Policy(stage.RealUsage, "---\n"+loadPolicy("{type: "+tc.source+setting+"}"+tc.pods, true)))
			evictions := wantCooled(t, f, story, mark)
			wantLanded(t, f, story, evictions)
			if got := chosen(f); got[tc.source] != len(story.Nodes) {
				t.Errorf("nodes by source: %v, want all from %s", got, tc.source)
			}
		})
	}
}

func plainKubelets(t *testing.T, f *stage.Fixture) string {
	t.Helper()
	return startKubelets(t, f, exporters.KubeletsConfig{Unmeasured: 12 * time.Second})
}

func startKubelets(t *testing.T, f *stage.Fixture, config exporters.KubeletsConfig) string {
	t.Helper()
	f.Component("kubelet-source")
	config.Cluster, config.Dir = f.Cluster, t.TempDir()
	kubelets, err := exporters.StartKubelets(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kubelets.Stop(); err != nil {
			t.Error(err)
		}
	})
	return fmt.Sprintf(", kubelet: {tls: {caFile: %q}}", kubelets.CAFile())
}

func startStatistics(t *testing.T, f *stage.Fixture) string {
	t.Helper()
	statistics, err := exporters.StartStatistics(t.Context(), exporters.StatisticsConfig{Cluster: f.Cluster})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := statistics.Stop(); err != nil {
			t.Error(err)
		}
	})
	return ""
}

// startAnnotator writes annotations as Crane does: as fractions, with timestamps of another time
// zone that end in Z.
func startAnnotator(t *testing.T, f *stage.Fixture) string {
	t.Helper()
	annotator, err := exporters.StartAnnotator(t.Context(), exporters.AnnotatorConfig{Cluster: f.Cluster})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	if err := annotator.Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	go func() { done <- annotator.Run(ctx, 10*time.Second) }()
	t.Cleanup(func() {
		cancel()
		<-done
		annotator.Stop()
	})
	return ""
}

func startExtender(t *testing.T, f *stage.Fixture, policy string) {
	t.Helper()
	p := f.Start("extender", "--policy-config-file", policy, "--listen-address", stage.Listen(), "--metrics-address", "0")
	if err := p.WaitServing(t.Context(), "http://"+stage.Listen()+"/livez"); err != nil {
		t.Fatal(err)
	}
	f.Eventually(30*time.Second, "the extender to know the nodes", func(context.Context) bool { return f.Status(stage.Listen()).FreshNodes > 0 })
}
