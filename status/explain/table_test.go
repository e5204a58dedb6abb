package explain

import (
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/internal/testkit"
	"github.com/evenkeel/evenkeel/observe/thresholds"
)

var update = flag.Bool("update", false, "Rewrite the tables in testdata.")

// The tables are in testdata; -update rewrites them.
func TestTables(t *testing.T) {
	node := func(f *Facts, name string) Explanation {
		n, err := OfNode(f, name)
		if err != nil {
			t.Fatal(err)
		}
		return &n
	}
	pod := func(f *Facts, name string) Explanation {
		p, err := OfPod(f, "shop", name)
		if err != nil {
			t.Fatal(err)
		}
		return &p
	}
	for name, usable := range map[string]Explanation{
		"node-hot":     node(fleet(t).planned(""), "n1"),
		"node-cool":    node(fleet(t).planned(""), "n4"),
		"node-ahead":   node(beforeDawn(t).planned(""), "n2"),
		"pod-ahead":    pod(beforeDawn(t).planned("report-1"), "report-1"),
		"node-limits":  node(limited(t).facts(), "n3"),
		"node-unknown": node(fleet(t).facts(), "n6"),
		"node-full":    node(saturated(t).planned(""), "n1"),
		"pod-full":     pod(saturated(t).planned("web-1"), "web-1"),
		"node-long":    longNames(node(fleet(t).planned(""), "n1")),
		"pod-moved":    pod(fleet(t).planned("web-1"), "web-1"),
		"pod-stays":    pod(fleet(t).planned("web-3"), "web-3"),
		"pod-no-plan":  pod(fleet(t).facts(), "web-3"),
		"pod-gone":     pod(fleet(t).planned(""), "web-old"),
		"pod-long":     longNames(pod(fleet(t).planned("web-3"), "web-3")),
	} {
		t.Run(name, func(t *testing.T) {
			text := func(style layout.Style) string { return shown(usable, style) }
			testkit.GoldenText(t, *update, name, text)
			if strings.HasSuffix(name, "-long") {
				testkit.GoldenLayout(t, *update, name, text)
			}
		})
	}
}

// A wide table shows every column, and each name as it is.
func TestWideTables(t *testing.T) {
	n, err := OfNode(fleet(t).planned(""), "n1")
	if err != nil {
		t.Fatal(err)
	}
	page := layout.Page{Style: layout.Style{Width: 80}, Wide: true}
	longNames(&n).Table(&page)
	for _, want := range []string{"LEAVE", "RECORDED", longName("shop/web-0"), longName("n4")} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("no %q in\n%s", want, page.String())
		}
	}
}

// longNames gives pods and nodes names of real lengths.
func longNames(e Explanation) Explanation {
	moves := func(all []Move) {
		for i := range all {
			m := &all[i]
			m.Pod, m.From, m.To, m.Node = longName(m.Pod), longName(m.From), longName(m.To), longName(m.Node)
		}
	}
	planned := func(all []PlannedMove) {
		for i := range all {
			all[i].Pod, all[i].From, all[i].To = longName(all[i].Pod), longName(all[i].From), longName(all[i].To)
		}
	}
	switch e := e.(type) {
	case *Node:
		e.Name, e.Summary = longName(e.Name), strings.Replace(e.Summary, e.Name, longName(e.Name), 1)
		moves(e.MovesFrom)
		planned(e.Leave)
		for i := range e.Declined {
			e.Declined[i].Pod = longName(e.Declined[i].Pod)
		}
	case *Pod:
		moves(e.Moves)
		for i := range e.Landings {
			e.Landings[i].Node = longName(e.Landings[i].Node)
		}
	}
	return e
}

func longName(name string) string { return name + "-7d9f8b6c44-x7k2p.eu-central-1.compute.internal" }

func shown(e Explanation, style layout.Style) string {
	page := layout.Page{Style: style}
	e.Table(&page)
	return page.String()
}

// A table has at most 20 rows of a kind, and says how many there are; JSON has
// all of them and reads back the same.
func TestLongLists(t *testing.T) {
	h := fleet(t)
	for k := range 200 {
		h.node(fmt.Sprintf("o%03d", k), thresholds.Cool, 1000, 1000, 1000)
	}
	p, err := OfPod(h.planned("web-3"), "shop", "web-3")
	if err != nil {
		t.Fatal(err)
	}
	table := shown(&p, layout.Style{})
	if rows := strings.Count(table, "\no0"); rows != Listed || !strings.Contains(table, "and 185 more; -o json lists all") {
		t.Errorf("%d rows in\n%s", rows, table)
	}
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var back Pod
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, back); diff != "" || len(back.Landings) != 205 {
		t.Errorf("%d landings, read back (-want +got):\n%s", len(back.Landings), diff)
	}
}
