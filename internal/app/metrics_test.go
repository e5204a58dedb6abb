package app

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"github.com/evenkeel/evenkeel/internal/certificates"
	"github.com/evenkeel/evenkeel/internal/flags"
)

var update = flag.Bool("update", false, "rewrite the tables of docs/metrics.md")

// exported is a metric as a process exports it.
type exported struct {
	name, help string
	labels     []string
	kind       dto.MetricType
	by         []string // the commands that export it
}

// certificateFiles writes certificate files for a server and its clients.
func certificateFiles(t *testing.T) (cert, key, ca string) {
	t.Helper()
	authority, err := certificates.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	pair, err := authority.Server([]string{"localhost"}, nil, time.Hour, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	cert, key, ca = filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key"), filepath.Join(folder, "ca.crt")
	for name, content := range map[string][]byte{cert: pair.Cert, key: pair.Key, ca: authority.Cert} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key, ca
}

// commandRegistries creates a process for each command that keeps running, with every server
// enabled, and returns their registries.
func commandRegistries(t *testing.T) map[string]*prometheus.Registry {
	t.Helper()
	cert, key, ca := certificateFiles(t)
	server := &apart{from: time.Now()}
	answers := func(o *flags.Options) {
		o.Interval, o.ListenAddress, o.TLSCertFile, o.TLSKeyFile, o.ClientCAs = time.Minute, "127.0.0.1:0", cert, key, ca
	}
	run := runApart(t, server, byUsage, func(o *flags.Options) { o.Interval = time.Minute })
	both, _, err := newServe(t.Context(), optionsApart(t, server, byUsage, answers, func(o *flags.Options) {
		o.WebhookAddress, o.WebhookCertFile, o.WebhookKeyFile = "127.0.0.1:0", cert, key
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(both.process.stop)
	if _, err := newWebhook(both.process); err != nil {
		t.Fatal(err)
	}
	extender, _, err := newExtender(t.Context(), optionsApart(t, server, byUsage, answers))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []*evicting{run, both} { // their nodesync is created only once the API server is reached
		if _, err := newNodeSync(e.process, e.process.current(), e.informers, ""); err != nil {
			t.Fatal(err)
		}
	}
	s, err := open(optionsApart(t, server, byUsage))
	if err != nil {
		t.Fatal(err)
	}
	marking, err := newPublishing(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(marking.process.stop)
	return map[string]*prometheus.Registry{
		"run": run.process.registry, "serve": both.process.registry, "extender": extender.registry, "nodesync": marking.process.registry,
	}
}

// These match the printed form of a Desc, because it has no accessors.
var (
	descOf     = regexp.MustCompile(`^Desc\{fqName: "([a-z_]+)", help: ("(?:[^"\\]|\\.)*"), constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)
	constLabel = regexp.MustCompile(`([a-z_]+)="`)
)

// described returns the metrics that a collector describes, by name.
func described(t *testing.T, c prometheus.Collector) map[string]*exported {
	t.Helper()
	descs, all := make(chan *prometheus.Desc), map[string]*exported{}
	go func() {
		c.Describe(descs)
		close(descs)
	}()
	for desc := range descs {
		found := descOf.FindStringSubmatch(desc.String())
		if found == nil {
			t.Errorf("not understood: %s", desc)
			continue
		}
		e := &exported{name: found[1], kind: dto.MetricType_GAUGE}
		e.help, _ = strconv.Unquote(found[2])
		for _, label := range constLabel.FindAllStringSubmatch(found[3], -1) {
			e.labels = append(e.labels, label[1])
		}
		if found[4] != "" {
			e.labels = append(e.labels, strings.Split(found[4], ",")...)
		}
		if strings.HasSuffix(e.name, "_total") {
			e.kind = dto.MetricType_COUNTER
		}
		all[e.name] = e
	}
	return all
}

// allExported returns the metrics that the processes export, by name. A metric without series is
// described but not gathered, and only gathered metrics have a type.
func allExported(t *testing.T) map[string]*exported {
	t.Helper()
	all, registries := map[string]*exported{}, commandRegistries(t)
	for _, command := range []string{"run", "serve", "extender", "nodesync"} {
		for name, e := range described(t, registries[command]) {
			if all[name] == nil && strings.HasPrefix(name, "evenkeel_") {
				all[name] = e
			}
			if all[name] != nil {
				all[name].by = append(all[name].by, command)
			}
		}
		families, err := registries[command].Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			if e := all[family.GetName()]; e != nil {
				e.kind = family.GetType()
			} else if strings.HasPrefix(family.GetName(), "evenkeel_") {
				t.Errorf("%s is not described", family.GetName())
			}
		}
	}
	return all
}

// reference returns the tables of docs/metrics.md.
func reference(all map[string]*exported) string {
	var text strings.Builder
	text.WriteString("| metric | type | labels | by | |\n|---|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		e := all[name]
		by, labels := strings.Join(e.by, ", "), ""
		if len(e.by) == 4 {
			by = "all"
		}
		if len(e.labels) > 0 {
			labels = "`" + strings.Join(e.labels, "`, `") + "`"
		}
		fmt.Fprintf(&text, "| `%s` | %s | %s | %s | %s |\n", name, strings.ToLower(e.kind.String()), labels, by, strings.TrimSuffix(e.help, "."))
	}
	return text.String()
}

// docs/metrics.md lists exactly what the processes export.
func TestMetricsReference(t *testing.T) {
	const begin, end = "-update -->\n", "<!-- end -->"
	path := filepath.Join("..", "..", "docs", "metrics.md")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(content), begin)
	tables, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatal("docs/metrics.md has no place for its tables")
	}
	want := reference(allExported(t))
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if diff := gocmp.Diff(want, tables); diff != "" {
		t.Errorf("docs/metrics.md, which -update writes (-want +got):\n%s", diff)
	}
}

// promtool's linter reports nothing, even about metrics without series.
func TestMetricsAreLinted(t *testing.T) {
	var families []*dto.MetricFamily
	for _, e := range allExported(t) {
		metric := &dto.Metric{}
		for _, label := range e.labels {
			metric.Label = append(metric.Label, &dto.LabelPair{Name: &label, Value: new("x")})
		}
		families = append(families, &dto.MetricFamily{Name: &e.name, Help: &e.help, Type: &e.kind, Metric: []*dto.Metric{metric}})
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range problems {
		t.Errorf("%s: %s", problem.Metric, problem.Text)
	}
}

// Label values are in snake_case, except names that others define.
func TestLabelValuesAreInSnakeCase(t *testing.T) {
	snake := regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*$`)
	theirs := []string{"source", "strategy", "node", "namespace", "hash", "version", "revision", "branch", "goversion", "goos", "goarch", "tags"}
	values := 0
	for command, registry := range commandRegistries(t) {
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			foreign := !strings.HasPrefix(family.GetName(), "evenkeel_")
			for _, metric := range family.GetMetric() {
				for _, label := range metric.GetLabel() {
					values++
					known := foreign || slices.Contains(theirs, label.GetName())
					if !known && !snake.MatchString(label.GetValue()) {
						t.Errorf("%s: %s{%s=%q}", command, family.GetName(), label.GetName(), label.GetValue())
					}
				}
			}
		}
	}
	if values < 100 {
		t.Errorf("%d values were looked at", values)
	}
}

var inDocs = regexp.MustCompile(`\bevenkeel_[a-z_]+`)

// The pages use only metrics that exist, under their current names.
func TestDocsNameMetrics(t *testing.T) {
	all, named := allExported(t), 0
	check := func(path string) {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range inDocs.FindAllString(string(content), -1) {
			named++
			known := all[name] != nil && !strings.HasPrefix(all[name].help, "Deprecated: ")
			if strings.HasSuffix(name, "_") { // a prefix of several metrics
				known = slices.ContainsFunc(slices.Collect(maps.Keys(all)), func(n string) bool { return strings.HasPrefix(n, name) })
			}
			if !known {
				t.Errorf("%s names %s", path, name)
			}
		}
	}
	check(filepath.Join("..", "..", "README.md"))
	err := filepath.WalkDir(filepath.Join("..", "..", "docs"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" && filepath.Base(path) != "metrics.md" { // metrics.md has its own test
			check(path)
		}
		return err
	})
	if err != nil || named < 20 {
		t.Errorf("%d metrics are named; %v", named, err)
	}
}

// gaugeOf returns the value of a gauge without labels.
func gaugeOf(t *testing.T, registry *prometheus.Registry, name string) (value float64, exported bool) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetGauge().GetValue(), true
		}
	}
	return 0, false
}

// A process that takes part in no election, for example a dry run, counts as the leader.
func TestLeaderIsExported(t *testing.T) {
	for name, tc := range map[string]struct {
		elect, dryRun bool
		want          float64
	}{
		"without election":                  {false, false, 1},
		"not elected yet":                   {true, false, 0},
		"a dry run, which is never elected": {true, true, 1},
	} {
		a := runApart(t, &apart{from: time.Now()}, byUsage, func(o *flags.Options) {
			o.Interval, o.LeaderElect, o.DryRun = time.Minute, tc.elect, tc.dryRun
			o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = 15*time.Second, 10*time.Second, 2*time.Second
		})
		if got, exported := gaugeOf(t, a.process.registry, "evenkeel_leader"); got != tc.want || !exported {
			t.Errorf("%s: %v, exported %v; want %v", name, got, exported, tc.want)
		}
	}
}

// The remaining budget of the hour is computed from the policy in effect.
func TestBudgetRemaining(t *testing.T) {
	withBudget := func(moves int) string { return byUsage + fmt.Sprintf("eviction: {maxMovesPerHour: %d}\n", moves) }
	r := newReloading(t, withBudget(20))
	remaining := func() (left float64, limited bool) {
		return gaugeOf(t, r.process.registry, "evenkeel_eviction_budget_remaining")
	}
	if _, limited := remaining(); limited {
		t.Error("there is a budget before there is an evictor")
	}
	r.process.gauges.Follow(r.first.evictor, true)
	if left, limited := remaining(); !limited || left != 20 {
		t.Errorf("%v are left of 20", left)
	}
	for moves, wantLimited := range map[int]bool{5: true, 0: false} {
		r.changed(t.Context(), []byte(withBudget(moves)), nil)
		if left, limited := remaining(); limited != wantLimited || left != float64(moves) {
			t.Errorf("%v are left of %d, limited %v", left, moves, limited)
		}
	}
}
