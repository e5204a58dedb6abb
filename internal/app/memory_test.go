package app

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/compat/presets"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/internal/servertime"
	"github.com/evenkeel/evenkeel/internal/settings"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/scorer"
)

// recordingRule is a Prometheus with one series per node, like those that a recording rule has
// written at a given time.
type recordingRule struct {
	mu     sync.Mutex
	at     time.Time
	values map[string]string
	asked  []string
}

// ServeHTTP implements http.Handler.
func (p *recordingRule) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	query := r.FormValue("query")
	p.asked = append(p.asked, query)
	var series []string
	for node, value := range p.values {
		if strings.HasPrefix(query, "timestamp(") {
			value = fmt.Sprint(p.at.Unix())
		}
		series = append(series, fmt.Sprintf(`{"metric":{"instance":%q},"value":[%d,%q]}`, node, p.at.Unix(), value))
	}
	fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[%s]}}`, strings.Join(series, ","))
}

// memoryProcess returns a process with the memory preset that reads from a Prometheus.
func memoryProcess(t *testing.T, address string, threshold float64, now func() time.Time) *process {
	t.Helper()
	settings := presets.DefaultMemory()
	settings.PrometheusURL, settings.ThresholdPercent = address, threshold
	preset, errs := settings.Preset()
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	given, _, err := presets.Load("memory preset", preset, kinds.All)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProcess(t.Context(), setup{
		options: flags.Options{Given: given, MemoryOnly: true}, file: given,
		kube: &kube.Connection{REST: &rest.Config{}, Client: fake.NewClientset(), Clock: servertime.New(now)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// machines returns nodes with 8 GB, of which pods may use 6.
func machines(names ...string) *cluster.Snapshot {
	snapshot := &cluster.Snapshot{}
	for _, name := range names {
		snapshot.Nodes = append(snapshot.Nodes, &cluster.NodePods{Node: cluster.Node{
			Name: name, Ready: true,
			Capacity: cluster.Amounts{cluster.CPU: 4000, cluster.Memory: 8_000_000_007}, Allocatable: cluster.Amounts{cluster.CPU: 4000, cluster.Memory: 6_000_000_000},
		}})
	}
	return snapshot
}

// The answers follow from the metric by the extender's rules. v is Prometheus' value, rounded down
// to a whole percent. A node is rejected if v >= threshold, and its score is int((100-v)/10), from
// 0 to 10. A node without a value is accepted and scores 1. Percentages refer to the whole machine,
// not to what pods may use.
func TestMemoryPresetJudges(t *testing.T) {
	measured := time.Unix(1_700_000_000, 0)
	values := map[string]string{
		"empty": "0", "cool": "9.99", "ten": "10", "half": "50.5", "below": "79.9", "at": "80", "above": "80.4", "nearly": "90.01", "full": "100",
	}
	type answer struct {
		Taken bool
		Score int8
	}
	fresh := map[string]answer{
		"empty":   {true, 10},
		"cool":    {true, 9}, // (100-9)/10 = 9.1
		"ten":     {true, 9},
		"half":    {true, 5},  // (100-50)/10
		"below":   {true, 2},  // (100-79)/10 = 2.1
		"at":      {false, 2}, // 80 >= 80
		"above":   {false, 2}, // without rounding it would be 1.96
		"nearly":  {false, 1},
		"full":    {false, 0},
		"unknown": {true, 1},
	}
	unknown := map[string]answer{}
	for name := range fresh {
		unknown[name] = answer{true, 1}
	}
	for name, tc := range map[string]struct {
		age  time.Duration
		want map[string]answer
	}{
		"just measured":               {0, fresh},
		"a minute old":                {time.Minute, fresh},
		"three minutes old":           {3 * time.Minute, fresh},
		"more than three minutes old": {3*time.Minute + 2*time.Second, unknown},
		"no Prometheus for an hour":   {time.Hour, unknown},
	} {
		t.Run(name, func(t *testing.T) {
			now := measured
			rule := &recordingRule{at: measured, values: values}
			server := httptest.NewServer(rule)
			defer server.Close()
			a := memoryProcess(t, server.URL, 80, func() time.Time { return now })
			snapshot := machines("above", "at", "below", "cool", "empty", "full", "half", "nearly", "ten", "unknown")
			board := boardAt(t, a, snapshot, func() time.Time { now = measured.Add(tc.age); return now })

			got := map[string]answer{}
			var nodes []cluster.NodeIndex
			for i := range snapshot.Nodes {
				nodes = append(nodes, cluster.NodeIndex(i))
			}
			scores := make([]int8, len(nodes))
			board.Score(nodes, cluster.Amounts{}, scores)
			for i, node := range snapshot.Nodes {
				got[node.Node.Name] = answer{!slices.Contains(board.AppendRefused(nil, cluster.Amounts{cluster.CPU: 8000, cluster.Memory: 1 << 40}), cluster.NodeIndex(i)), scores[i]}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
			// The queries use only what users of the extender have: the metric, its timestamp, and
			// its values over five minutes.
			for _, query := range rule.asked {
				if !strings.Contains(query, "HostMemoryUsagePercent") {
					t.Errorf("queried %s", query)
				}
			}
		})
	}
}

// boardAt takes one sample and returns the board at the given time.
func boardAt(t *testing.T, a *process, snapshot *cluster.Snapshot, at func() time.Time) *scorer.Board {
	t.Helper()
	set, err := settings.Lines(a.current().load, nil)
	if err != nil {
		t.Fatal(err)
	}
	batch, err := a.current().observing.Sources[0].Sample(t.Context(), snapshot)
	if err != nil {
		t.Fatal(err)
	}
	store, err := usage.NewStore(settings.Usage(a.current().load), a.kube.Clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	if problems := store.Ingest(snapshot, batch); len(problems[batch.Source]) > 0 {
		t.Errorf("problems: %v", problems)
	}
	view := store.View(snapshot, at(), nil)
	return scorer.NewBoard(view, set.Resolve(view), settings.Scorer(a.current().load))
}

// The preset answers over HTTP as the extender did. A custom policy uses its own message.
func TestMemoryPresetAnswers(t *testing.T) {
	a := memoryProcess(t, "http://127.0.0.1:9090", 80, time.Now)
	config := a.answers()
	if config.LoadMessage != "node memory load high" || !config.RejectAll || !config.NamesOnly || !config.FullReplies || config.LogBodies {
		t.Errorf("answers by %+v", config)
	}
	if paths := slices.Sorted(maps.Keys(config.Pages)); !slices.Equal(paths, []string{"/", "/metrics"}) {
		t.Errorf("pages %q", paths)
	}
	recorder := httptest.NewRecorder()
	config.Pages["/metrics"].ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	if body := recorder.Body.String(); recorder.Code != http.StatusOK || !strings.Contains(body, "go_build_info") {
		t.Errorf("metrics: status %d: %s", recorder.Code, body)
	}

	measured := a.current().load.Scoring.Measured
	a.options, measured.Message, measured.RejectAll = flags.Options{LogBodies: true}, "full", false
	config = a.answers()
	if config.LoadMessage != "full" || config.RejectAll || config.NamesOnly || config.FullReplies || !config.LogBodies || config.Pages != nil {
		t.Errorf("a policy of one's own answers by %+v", config)
	}
}
