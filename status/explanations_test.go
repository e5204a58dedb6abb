package status_test

import (
	"encoding/json"
	"flag"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/internal/testkit"
	"github.com/evenkeel/evenkeel/status"
	"github.com/evenkeel/evenkeel/status/text"
)

var update = flag.Bool("update", false, "Rewrite the tables in testdata.")

func shown(e status.Explanation, style layout.Style, wide bool) string {
	page := layout.Page{Style: style, Wide: wide}
	text.Explanation(&page, e)
	return page.String()
}

// The expected tables are in testdata; -update rewrites them.
func TestTables(t *testing.T) {
	for name, e := range status.Explanations(t) {
		t.Run(name, func(t *testing.T) {
			printed := func(style layout.Style) string { return shown(e, style, false) }
			testkit.GoldenText(t, *update, name, printed)
			if strings.HasSuffix(name, "-long") {
				testkit.GoldenLayout(t, *update, name, printed)
			}
		})
	}
}

// A wide table shows every column and the full names.
func TestWideTables(t *testing.T) {
	got := shown(status.Explanations(t)["node-long"], layout.Style{Width: testkit.Narrow}, true)
	for _, want := range []string{"LEAVE", "RECORDED", status.LongName("shop/web-0"), status.LongName("n4")} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

// A node's table states the base of its percentages.
func TestTableHasReserve(t *testing.T) {
	n := status.NodeExplanation{Node: status.Node{Reserve: &status.Reserve{Text: "of the whole machine's capacity"}}}
	if got := shown(&n, layout.Style{}, false); !strings.Contains(got, "percentages are") || !strings.Contains(got, "of the whole machine's capacity") {
		t.Errorf("the table lacks it:\n%s", got)
	}
}

// A table has at most 20 rows of a kind, and states how many more there are. The JSON contains all
// of them, and decodes to the same explanation.
func TestLongLists(t *testing.T) {
	p := status.OfManyNodes(t)
	table := shown(&p, layout.Style{}, false)
	if rows := strings.Count(table, "\no0"); rows != 20 || !strings.Contains(table, "and 185 more; -o json lists all") {
		t.Errorf("%d rows in\n%s", rows, table)
	}
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var back status.PodExplanation
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, back); diff != "" || len(back.Landings) != 205 {
		t.Errorf("%d landings, read back (-want +got):\n%s", len(back.Landings), diff)
	}
}
