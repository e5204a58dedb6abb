package alerts_test

import (
	"bufio"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/status/serve"
)

// metrics maps each metric that a query may use to its labels.
type metrics map[string][]string

// scraped are the labels that a scrape adds, or that Evenkeel adds inside kube-scheduler.
var scraped = []string{"cluster", "namespace", "job", "instance", "pod", "policy"}

// ofLibraries are the metrics that alerts and the dashboard use but libraries export.
// TestLibraryMetricsAreServed checks that a process serves them.
var ofLibraries = metrics{
	"go_gc_gomemlimit_bytes":                      nil,
	"go_goroutines":                               nil,
	"process_cpu_seconds_total":                   nil,
	"process_resident_memory_bytes":               nil,
	"rest_client_request_duration_seconds_bucket": {"verb", "host", "le"},
	"rest_client_requests_total":                  {"code", "method", "host"},
}

// metricRow matches a row of the table of metrics in docs/metrics.md: name, type and labels.
var metricRow = regexp.MustCompile("(?m)^\\| `(evenkeel_[a-z_]+)` \\| (gauge|counter|histogram) \\| ([^|]*) \\|")

// knownMetrics returns the metrics in docs/metrics.md, which a test of internal/app compares with
// what processes export, and those of libraries.
func knownMetrics(t *testing.T) metrics {
	t.Helper()
	known := maps.Clone(ofLibraries)
	for _, cells := range metricRow.FindAllStringSubmatch(contentOf(t, filepath.Join(root, "docs", "metrics.md")), -1) {
		var labels []string
		for label := range strings.SplitSeq(cells[3], ",") {
			if label = strings.Trim(label, " `"); label != "" {
				labels = append(labels, label)
			}
		}
		if slices.Contains(labels, "namespace") { // a scrape that has the label keeps the metric's under this name
			labels = append(labels, "exported_namespace")
		}
		if cells[2] == "histogram" {
			known[cells[1]+"_bucket"] = append([]string{"le"}, labels...)
			known[cells[1]+"_sum"], known[cells[1]+"_count"] = labels, labels
			continue
		}
		known[cells[1]] = labels
	}
	if len(known) < 50 {
		t.Fatalf("%d metrics were found", len(known))
	}
	return known
}

// The parts of a query, as far as alerts and the dashboard use PromQL.
var (
	grouping = regexp.MustCompile(`\b(?:by|without|on|ignoring|group_left|group_right) *\(([^)]*)\)`)
	selector = regexp.MustCompile(`\b([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{([0-9]+)\})?`)
	braces   = regexp.MustCompile(`\{[^}]*\}`)
	matcher  = regexp.MustCompile(`([a-zA-Z_]+) *(?:=~|!~|!=|=) *"([^"]*)"`)
	span     = regexp.MustCompile(`\[[^\]]*\]`)
	text     = regexp.MustCompile(`"[^"]*"`)
	replaced = regexp.MustCompile(`"([a-z_]+)", *"[^"]*", *"[^"]*", *"[^"]*" *\)`)
	rated    = regexp.MustCompile(`\b(?:rate|increase) *\(([a-z_]+)`)
	called   = regexp.MustCompile(`\b[a-z_]+ *\(`)
)

// operators are words of PromQL that are neither functions nor metrics.
var operators = []string{"and", "or", "unless", "bool", "offset"}

// counts are the names of what only grows.
var counts = regexp.MustCompile(`_(total|bucket|sum|count)$`)

// series is a selector: the metric and its matchers, label and value.
type series struct {
	name     string
	matchers [][]string
}

// selectors returns the series that a query selects, and the labels that it
// groups by.
func selectors(query string) (all []series, labels []string) {
	for _, clause := range grouping.FindAllStringSubmatch(query, -1) {
		labels = append(labels, strings.FieldsFunc(clause[1], func(r rune) bool { return r == ',' || r == ' ' })...)
	}
	// Matchers wait outside, by number, while what may look like a metric goes.
	var matchers [][][]string
	plain := braces.ReplaceAllStringFunc(query, func(found string) string {
		matchers = append(matchers, matcher.FindAllStringSubmatch(found, -1))
		return fmt.Sprintf("{%d}", len(matchers)-1)
	})
	for _, away := range []*regexp.Regexp{grouping, span, text} {
		plain = away.ReplaceAllString(plain, " ")
	}
	plain = called.ReplaceAllString(plain, "(")
	for _, found := range selector.FindAllStringSubmatch(plain, -1) {
		s := series{name: found[1]}
		if i, err := strconv.Atoi(found[2]); err == nil {
			s.matchers = matchers[i]
		}
		if !slices.Contains(operators, s.name) {
			all = append(all, s)
		}
	}
	return all, labels
}

// byReason are the metrics whose label reason has values of package reasons.
var byReason = []string{
	"evenkeel_evictions_on_hold", "evenkeel_evictions_paused", "evenkeel_moves_skipped_total", "evenkeel_nodes_unknown", "evenkeel_usage_insufficient",
}

// problems returns what in a query nothing exports.
func (m metrics) problems(query string) (all []string) {
	var may []string
	selected, labels := selectors(query)
	for _, s := range selected {
		all = append(all, m.unknown(s)...)
		may = append(may, m[s.name]...)
	}
	for _, of := range rated.FindAllStringSubmatch(query, -1) {
		if !counts.MatchString(of[1]) {
			all = append(all, of[1]+" is no counter, and has no rate")
		}
	}
	for _, made := range replaced.FindAllStringSubmatch(query, -1) {
		may = append(may, made[1])
	}
	for _, label := range labels {
		if !slices.Contains(may, label) && !slices.Contains(scraped, label) {
			all = append(all, "no series here has the label "+label)
		}
	}
	if len(selected) == 0 {
		all = append(all, "it selects no series")
	}
	return all
}

// unknown returns what of a selector nothing exports.
func (m metrics) unknown(s series) (all []string) {
	known, ok := m[s.name]
	if !ok {
		return []string{"no process exports " + s.name}
	}
	for _, match := range s.matchers {
		if !slices.Contains(known, match[1]) && !slices.Contains(scraped, match[1]) {
			all = append(all, fmt.Sprintf("%s has no label %s", s.name, match[1]))
		}
		if match[1] != "reason" || !slices.Contains(byReason, s.name) {
			continue
		}
		for value := range strings.SplitSeq(match[2], "|") {
			if !slices.ContainsFunc(reasons.All(), func(r reasons.Reason) bool { return r.Label() == value }) {
				all = append(all, fmt.Sprintf("%s is no reason, in %s", value, s.name))
			}
		}
	}
	return all
}

// What nothing exports is found, wherever in a query it is.
func TestUnknownMetricsAreFound(t *testing.T) {
	known := metrics{"up_seconds": {"reason"}, "up_total": {"reason"}, "evenkeel_evictions_on_hold": {"reason"}}
	for query, want := range map[string]int{
		`max by (job, reason) (up_seconds{reason="x", job=~"$job"} and on (instance) evenkeel_evictions_on_hold{reason=~"paused|no_usage_data"} == 1) > 0.5`: 0,
		`label_replace(up_seconds, "resource", "cpu", "", "") > 1e3`:                                                                                         0,
		`sum by (resource) (label_replace(up_seconds, "resource", "cpu", "", ""))`:                                                                           0,
		`sum by (resource) (up_seconds)`:                                      1,
		`rate(down_total[5m]) / rate(up_total{reason="x"}[$__rate_interval])`: 1,
		`sum(increase(up_seconds[1h]))`:                                       1,
		`up_seconds{cause="x"}`:                                               1,
		`max(evenkeel_evictions_on_hold{reason!~"paused|tired"})`:             1,
		`max by (cause) (up_seconds) unless on (pod) up_hours`:                2,
		`time() - 5`: 1,
	} {
		if got := known.problems(query); len(got) != want {
			t.Errorf("%s: %d problems, want %d: %q", query, len(got), want, got)
		}
	}
}

// What alerts and the dashboard use of libraries is in what a process serves.
func TestLibraryMetricsAreServed(t *testing.T) {
	api := httptest.NewServer(http.NotFoundHandler())
	defer api.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: api.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Discovery().ServerVersion(); err == nil {
		t.Fatal("an answer without a server")
	}
	served := httptest.NewRecorder()
	serve.Metrics(serve.NewRegistry()).ServeHTTP(served, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	labels := map[string][]string{}
	for lines := bufio.NewScanner(served.Body); lines.Scan(); {
		name, rest, _ := strings.Cut(lines.Text(), "{")
		name, _, _ = strings.Cut(name, " ")
		labels[name] = nil
		for _, match := range matcher.FindAllStringSubmatch(rest, -1) {
			labels[name] = append(labels[name], match[1])
		}
	}
	for name, want := range ofLibraries {
		got, exported := labels[name]
		slices.Sort(got)
		if want = slices.Sorted(slices.Values(want)); !exported || !slices.Equal(want, got) {
			t.Errorf("%s: labels %q, served %v; want %q", name, got, exported, want)
		}
	}
}
