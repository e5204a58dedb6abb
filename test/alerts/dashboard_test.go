package alerts_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

var dashboardFile = filepath.Join(root, "charts", "evenkeel", "files", "dashboard.json")

type datasource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

// panel is a panel or, if its type is row, the heading of the panels that follow.
type panel struct {
	ID          int        `json:"id"`
	Type        string     `json:"type"`
	Title       string     `json:"title"`
	Description string     `json:"description"`
	Datasource  datasource `json:"datasource"`
	FieldConfig struct {
		Defaults struct {
			Unit string `json:"unit"`
		} `json:"defaults"`
	} `json:"fieldConfig"`
	GridPos struct{ X, Y, W, H int } `json:"gridPos"`
	Panels  []any                    `json:"panels"`
	Targets []struct {
		RefID        string     `json:"refId"`
		Expr         string     `json:"expr"`
		LegendFormat string     `json:"legendFormat"`
		Datasource   datasource `json:"datasource"`
	} `json:"targets"`
}

type dashboard struct {
	UID           string  `json:"uid"`
	Title         string  `json:"title"`
	SchemaVersion int     `json:"schemaVersion"`
	Panels        []panel `json:"panels"`
	Templating    struct {
		List []struct {
			Name       string     `json:"name"`
			Type       string     `json:"type"`
			Definition string     `json:"definition"`
			AllValue   string     `json:"allValue"`
			Datasource datasource `json:"datasource"`
		} `json:"list"`
	} `json:"templating"`
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	if err := json.Unmarshal([]byte(contentOf(t, dashboardFile)), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Panels) < 20 {
		t.Fatalf("%d panels were read", len(d.Panels))
	}
	return d
}

// chosen is the data source that the user of the dashboard selects.
var chosen = datasource{Type: "prometheus", UID: "${datasource}"}

// finalSchema is the last schema version of Grafana's classic dashboards. Grafana migrates later
// versions to another format.
const finalSchema = 42

// Users select the data source, then the namespace, then the job. "All" includes series without
// these labels.
func TestDashboardVariables(t *testing.T) {
	d := readDashboard(t)
	if d.UID != "evenkeel" || d.Title != "Evenkeel" || d.SchemaVersion != finalSchema {
		t.Errorf("uid %q, title %q, schemaVersion %d", d.UID, d.Title, d.SchemaVersion)
	}
	var got []string
	for _, v := range d.Templating.List {
		got = append(got, v.Name+" "+v.Type)
		if v.Type == "query" && (v.AllValue != ".*" || v.Datasource != chosen || !strings.HasPrefix(v.Definition, "label_values(evenkeel_build_info")) {
			t.Errorf("variable %+v", v)
		}
	}
	if diff := cmp.Diff([]string{"datasource datasource", "namespace query", "job query"}, got); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
}

// No panel overlaps another or exceeds the width of the dashboard.
func TestDashboardPanelsDoNotOverlap(t *testing.T) {
	const columns = 24
	d, taken := readDashboard(t), map[[2]int]string{}
	for i := range d.Panels {
		p, at := &d.Panels[i], d.Panels[i].GridPos
		if at.W < 1 || at.H < 1 || at.X+at.W > columns {
			t.Errorf("%q is at %+v", p.Title, at)
		}
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Fatalf("%q lies on %q", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
	}
}

// The rows are in the order of an investigation, and each panel has a title, a unit and a
// description.
func TestDashboardIsReadable(t *testing.T) {
	d := readDashboard(t)
	var rows []string
	ids, titles := map[int]bool{}, map[string]bool{}
	for i := range d.Panels {
		p := &d.Panels[i]
		if ids[p.ID] || titles[p.Title] || p.Title == "" {
			t.Errorf("panel %d, %q: another has its id or title, or it has none", p.ID, p.Title)
		}
		ids[p.ID], titles[p.Title] = true, true
		if p.Type == "row" {
			rows = append(rows, p.Title)
			continue
		}
		if len(rows) == 0 || len(p.Panels) > 0 || p.FieldConfig.Defaults.Unit == "" || !strings.HasSuffix(p.Description, ".") || p.Datasource != chosen {
			t.Errorf("%q: row %v, unit %q, description %q, data source %v", p.Title, rows, p.FieldConfig.Defaults.Unit, p.Description, p.Datasource)
		}
	}
	want := []string{"What is hot", "What is done about it", "Why not", "Steering", "Usage sources", "Process"}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// Each query selects series that processes export, and only those of the selected jobs. Each legend
// uses labels of the query's result.
func TestDashboardUsesExportedMetrics(t *testing.T) {
	d, known, named := readDashboard(t), knownMetrics(t), regexp.MustCompile(`\{\{ *([a-z_]+) *\}\}`)
	for i := range d.Panels {
		p := &d.Panels[i]
		if p.Type == "row" {
			continue
		}
		ids := map[string]bool{}
		for _, target := range p.Targets {
			if ids[target.RefID] || target.RefID == "" || target.Datasource != chosen || target.LegendFormat == "" {
				t.Errorf("%q: query %+v", p.Title, target)
			}
			ids[target.RefID] = true
			expr := strings.ReplaceAll(target.Expr, "offset $__range", "offset 6h") // not a series
			for _, problem := range known.problems(expr) {
				t.Errorf("%q: %s", p.Title, problem)
			}
			all, labels := selectors(expr)
			for _, s := range all {
				for _, want := range [][]string{{"namespace", "$namespace"}, {"job", "$job"}} {
					if !slices.ContainsFunc(s.matchers, func(m []string) bool { return slices.Equal(m[1:], want) }) {
						t.Errorf("%q: %s is not of the chosen %s", p.Title, s.name, want[0])
					}
				}
			}
			for _, label := range named.FindAllStringSubmatch(target.LegendFormat, -1) {
				if !slices.Contains(labels, label[1]) {
					t.Errorf("%q: its legend names %s, by which it does not group", p.Title, label[1])
				}
			}
		}
		if len(ids) == 0 {
			t.Errorf("%q: it has no query", p.Title)
		}
	}
}

// interval replaces the variables that Grafana sets.
var interval = strings.NewReplacer("$__rate_interval", "5m", "$__range", "6h", "$namespace", ".*", "$job", ".*")

// Prometheus can parse each query.
func TestDashboardIsPromQL(t *testing.T) {
	type rule struct {
		Record string `json:"record"`
		Expr   string `json:"expr"`
	}
	var queries []rule
	d := readDashboard(t)
	for i := range d.Panels {
		for k, target := range d.Panels[i].Targets {
			queries = append(queries, rule{fmt.Sprintf("panel_%d:query_%d", d.Panels[i].ID, k), interval.Replace(target.Expr)})
		}
	}
	file, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": queries}}})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "queries.yaml")
	if err := os.WriteFile(name, file, 0o600); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", "--lint=none", name)
}
