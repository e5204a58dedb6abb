package prometheus

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/source"
)

// answerWith answers every query with a status, a content type and a body.
func answerWith(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// If the server does not answer any one of the queries properly, the whole sample fails.
func TestFaultsOfTheServer(t *testing.T) {
	whole := vectorOf(of("1", "node", "n1"))
	cases := map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"an internal error":  {answerWith(500, "application/json", `{"status":"error","errorType":"internal","error":"disk on fire"}`), "500 Internal Server Error: internal: disk on fire"},
		"no permission":      {answerWith(401, "text/plain; charset=utf-8", "no org id\nsecond line"), "401 Unauthorized: no org id"},
		"a page":             {answerWith(502, "text/html", "<html>bad gateway</html>"), "502 Bad Gateway"},
		"a bad query":        {answerWith(400, "application/json", `{"status":"error","errorType":"bad_data","error":"`+strings.Repeat("x", 5000)+`"}`), "bad_data: " + strings.Repeat("x", 180)},
		"a login":            {http.RedirectHandler("https://login.example.com/?next=1", http.StatusFound).ServeHTTP, `302 Found, pointing to "https://login.example.com"`},
		"a wrong path":       {http.NotFound, "404 Not Found: 404 page not found"},
		"no content":         {answerWith(204, "", ""), "204 No Content"},
		"a page for all":     {answerWith(200, "text/html", "<html>hello</html>"), "offset 0: '<' where an object should be"},
		"truncated JSON":     {answerWith(200, "application/json", whole[:len(whole)/2]), "the input ends"},
		"a truncated body":   {cutShort(whole), "cut off"},
		"an error in a 200":  {answerWith(200, "application/json", `{"status":"error","errorType":"timeout","error":"too slow"}`), "timeout: too slow"},
		"a scalar":           {answerWith(200, "application/json", `{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}`), "is a scalar, not a vector"},
		"an echo of a token": {echo, "403 Forbidden"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(tc.handler)
			defer server.Close()
			config := configFor(server.URL)
			config.client = &http.Client{Transport: withToken{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			source := newSource(t, config)
			batch, err := source.Sample(t.Context(), clusterOf(1))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want %q", err, tc.want)
			}
			if strings.Contains(err.Error(), "sesame") || len(err.Error()) > 500 {
				t.Errorf("the error is too long: %v", err)
			}
			if diff := cmp.Diff(usage.Batch{}, batch); diff != "" {
				t.Errorf("half a batch (-want +got):\n%s", diff)
			}
			if _, err := source.History(t.Context(), clusterOf(1), epoch().Add(-time.Hour), time.Minute); err == nil {
				t.Error("a history was read")
			}
		})
	}
}

func echo(w http.ResponseWriter, r *http.Request) {
	http.Error(w, "bad "+r.Header.Get("Authorization"), http.StatusForbidden)
}

// withToken adds a token to requests.
type withToken struct{}

// RoundTrip implements http.RoundTripper.
func (withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer sesame")
	return http.DefaultTransport.RoundTrip(r)
}

// cutShort announces more than it sends.
func cutShort(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		_, _ = io.WriteString(w, body[:len(body)-10])
	}
}

func TestServerThatIsDown(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	_, err := newSource(t, configFor(server.URL)).Sample(t.Context(), clusterOf(1))
	if err == nil || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "query=") {
		t.Errorf("got %v", err)
	}
}

// A slow server times out, whether it is slow to start or to continue, and is read again once it
// has recovered.
func TestServerThatIsSlow(t *testing.T) {
	for _, begun := range []bool{false, true} {
		var quick atomic.Bool
		release := make(chan struct{})
		server := newFake(t, healthy())
		server.before = func(w http.ResponseWriter, r *http.Request) bool {
			if quick.Load() {
				return false
			}
			if begun {
				_, _ = io.WriteString(w, `{"status":"success",`)
				_ = http.NewResponseController(w).Flush()
			}
			select {
			case <-r.Context().Done():
			case <-release:
			}
			return true
		}
		config := configFor(server.URL)
		config.Timeout = 50 * time.Millisecond
		source := newSource(t, config)
		if _, err := source.Sample(t.Context(), clusterOf(2)); err == nil || !strings.Contains(err.Error(), "context deadline exceeded") {
			t.Errorf("started %v: got %v", begun, err)
		}
		close(release)
		source.api.client.CloseIdleConnections()
		quick.Store(true)
		source.api.timeout = 5 * time.Second
		if batch := sample(t, source, clusterOf(2)); len(batch.Nodes) != 2 {
			t.Errorf("started %v: it did not recover: %+v", begun, batch)
		}
	}
}

func TestCancelledSample(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newSource(t, configFor(newFake(t, healthy()).URL)).Sample(ctx, clusterOf(1)); err == nil {
		t.Error("a cancelled sample was returned")
	}
}

// An answer of 200 MB is not read to the end.
func TestAnswerThatIsTooLarge(t *testing.T) {
	sent := make(chan int64, 16)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"status":"success","data":{"resultType":"vector","result":[`)
		item := strings.Repeat(`{"metric":{"node":"n1"},"value":[1,"1"]},`, 1000)
		var n int64
		for n < 200_000_000 {
			written, err := io.WriteString(w, item)
			if n += int64(written); err != nil {
				break
			}
		}
		sent <- n
	}))
	defer server.Close()
	config := configFor(server.URL)
	config.maxBytes, config.Metrics, config.NodesOnly, config.parallel = 1<<20, []usage.Metric{usage.CPU}, true, 1
	_, err := newSource(t, config).Sample(t.Context(), clusterOf(1))
	if err == nil || !strings.Contains(err.Error(), "the answer is too large: over 1048576 bytes") {
		t.Errorf("got %v", err)
	}
	if n := <-sent; n > 100_000_000 {
		t.Errorf("%d bytes were taken", n)
	}
}

// Faulty series are left out and counted, and never become zero.
func TestFaultsOfSeries(t *testing.T) {
	n1, n2 := []string{"node", "n1"}, []string{"node", "n2"}
	fraction := func(unit source.Unit) func(*settings) {
		return override(usage.CPU, Query{Expr: nodeCPU, Unit: unit})
	}
	cases := map[string]struct {
		answer string
		change func(*settings)
		want   map[string]float64
		cause  usage.Cause
		count  int
	}{
		"not a number":      {vectorOf(of("NaN", n1...), of("2", n2...)), nil, map[string]float64{"n2": 2000}, usage.Absurd, 1},
		"infinite":          {vectorOf(of("+Inf", n1...), of("-Inf", n2...)), nil, map[string]float64{}, usage.Absurd, 2},
		"no number at all":  {vectorOf(of("", n1...), of("2", n2...)), nil, map[string]float64{"n2": 2000}, usage.Absurd, 1},
		"negative":          {vectorOf(of("-1", n1...)), nil, map[string]float64{"n1": -1000}, "", 0},
		"replicas agree":    {vectorOf(of("20", n1...), of("21.9", n1...)), nil, map[string]float64{"n1": 20_000}, "", 0},
		"and on idle nodes": {vectorOf(of("0.1", n1...), of("1.6", n1...)), nil, map[string]float64{"n1": 100}, "", 0},
		"two truths":        {vectorOf(of("4", n1...), of("20", n1...), of("4", n1...), of("2", n2...)), nil, map[string]float64{"n2": 2000}, usage.Duplicate, 1},
		"1000 percent":      {vectorOf(of("1000", n1...), of("50", n2...)), fraction(source.Percent), map[string]float64{"n2": 16_000}, usage.Absurd, 1},
		"fractions where percent is due": {
			vectorOf(of("0.2", n1...), of("0.9", n2...)), fraction(source.Percent), map[string]float64{}, usage.Contradictory, 2,
		},
		"an idle node among others": {
			vectorOf(of("0.2", n1...), of("9", n2...)), fraction(source.Percent), map[string]float64{"n1": 64, "n2": 2880}, "", 0,
		},
		"percent where fractions are due": {vectorOf(of("20", n1...), of("0.5", n2...)), fraction(source.Fraction), map[string]float64{"n2": 16_000}, usage.Contradictory, 1},
		"a histogram": {
			success("vector", []any{map[string]any{"metric": map[string]string{"node": "n1"}, "histogram": []any{1, map[string]any{}}}}), nil,
			map[string]float64{}, usage.Unreadable, 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := newFake(t, map[string]string{nodeCPU: tc.answer})
			config := configFor(server.URL)
			config.Metrics, config.NodesOnly = []usage.Metric{usage.CPU}, true
			if tc.change != nil {
				tc.change(&config)
			}
			times := vectorOf(of(stamp(0), n1...), of(stamp(0), n2...))
			server.set(nodeStamp, times)
			server.set("timestamp("+nodeCPU+")", times)
			batch := sample(t, newSource(t, config), clusterOf(2))
			got := map[string]float64{}
			for key, value := range values(batch) {
				node, _, _ := strings.Cut(key, " ")
				got[node] = value
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
			if got := batch.Problems[tc.cause].Count; got != tc.count || tc.cause == "" && len(batch.Problems) > 0 {
				t.Errorf("%d times %q, want %d: %v", got, tc.cause, tc.count, batch.Problems)
			}
		})
	}
}

// If a server's clock is off, its times are not silently corrected, so that the Store can detect
// how far they are off.
func TestClockThatIsOff(t *testing.T) {
	answers := healthy()
	answers[nodeStamp] = vectorOf(of(stamp(8*3600), "node", "n1"))
	batch := sample(t, newSource(t, configFor(newFake(t, answers).URL)), clusterOf(1))
	if at := batch.Nodes[0].Readings[0].At; !at.Equal(epoch().Add(8 * time.Hour)) {
		t.Errorf("measured at %v", at)
	}
}

// A percentage of an unknown capacity is unknown.
func TestPercentOfNothing(t *testing.T) {
	snapshot := clusterOf(1)
	snapshot.Nodes[0].Node.Capacity[0] = 0
	config := configFor(newFake(t, map[string]string{"mine": vectorOf(of("50", "node", "n1"))}).URL)
	override(usage.CPU, Query{Windows: map[usage.Window]string{usage.Avg5m: "mine"}, Unit: source.Percent})(&config)
	config.NodesOnly, config.Metrics = true, []usage.Metric{usage.CPU}
	batch := sample(t, newSource(t, config), snapshot)
	if len(batch.Nodes) != 0 || batch.Problems[usage.Unreadable].Count != 1 {
		t.Errorf("got %+v, %+v", batch.Nodes, batch.Problems)
	}
}

func TestFaultsOfPods(t *testing.T) {
	p := func(value string) one { return of(value, "namespace", "a", "pod", "p") }
	q := of("1", "namespace", "a", "pod", "q")
	cases := map[string]struct {
		cpu   string
		cause usage.Cause
	}{
		"twice":           {vectorOf(p("1"), p("2"), q), usage.Duplicate},
		"not a number":    {vectorOf(p("NaN"), q), usage.Absurd},
		"beyond reason":   {vectorOf(p("1e30"), q), usage.Absurd},
		"no namespace":    {vectorOf(of("1", "pod", "p"), q), usage.Unreadable},
		"an empty name":   {vectorOf(of("1", "namespace", "a", "pod", ""), q), usage.Unreadable},
		"nothing of it":   {vectorOf(q), usage.Unreadable},
		"twice, then NaN": {vectorOf(p("1"), p("2"), p("NaN"), q), usage.Duplicate},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := newFake(t, healthy())
			server.set(podCPU, tc.cpu)
			server.set(podMemory, vectorOf(p("1"), q))
			batch := sample(t, newSource(t, configFor(server.URL)), clusterOf(2))
			if len(batch.Pods) != 1 || batch.Pods[0].Name != "q" || batch.Problems[tc.cause].Count == 0 {
				t.Errorf("got %+v, %+v", batch.Pods, batch.Problems)
			}
		})
	}
}

// An empty cluster is not an error, nor is one without a measured node.
func TestNoNodes(t *testing.T) {
	source := newSource(t, configFor(newFake(t, healthy()).URL))
	batch := sample(t, source, clusterOf(0))
	if len(batch.Nodes) != 0 || batch.Problems[usage.UnmatchedNode].Count != 2 {
		t.Errorf("got %+v, %+v", batch.Nodes, batch.Problems)
	}
	if got, err := source.History(t.Context(), clusterOf(0), epoch().Add(-time.Hour), time.Minute); got != nil || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

// Points at times that were not queried are ignored.
func TestHistoryBesideItsTimes(t *testing.T) {
	points := [][]any{}
	for _, second := range []int64{-1 << 30, -90, -61, -46, -45, -44, -30, 15, 1 << 30} {
		points = append(points, []any{epoch().Unix() + second, "1"})
	}
	series := map[string]any{"metric": map[string]string{"node": "n1"}, "values": points}
	source := newSource(t, configFor(newFake(t, map[string]string{"": success("matrix", []any{series})}).URL))
	got, err := source.History(t.Context(), clusterOf(1), epoch().Add(-time.Minute), 30*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 2 || !got[0].Received.Equal(epoch().Add(-time.Minute)) || !got[1].Received.Equal(epoch().Add(-30*time.Second)) {
		t.Errorf("got %+v", got)
	}
}
