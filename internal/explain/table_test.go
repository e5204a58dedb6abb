package explain

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/thresholds"
)

var update = flag.Bool("update", false, "Rewrite the tables in testdata.")

// What persons read stands in testdata; -update rewrites it.
func TestTables(t *testing.T) {
	type table interface{ Table(out io.Writer) error }
	node := func(f *Facts, name string) table {
		n, err := OfNode(f, name)
		if err != nil {
			t.Fatal(err)
		}
		return &n
	}
	pod := func(f *Facts, name string) table {
		p, err := OfPod(f, "shop", name)
		if err != nil {
			t.Fatal(err)
		}
		return &p
	}
	for name, usable := range map[string]table{
		"node-hot":     node(fleet(t).planned(""), "n1"),
		"node-cool":    node(fleet(t).planned(""), "n4"),
		"node-limits":  node(limited(t).facts(), "n3"),
		"node-unknown": node(fleet(t).facts(), "n6"),
		"pod-moved":    pod(fleet(t).planned("web-1"), "web-1"),
		"pod-stays":    pod(fleet(t).planned("web-3"), "web-3"),
		"pod-no-plan":  pod(fleet(t).facts(), "web-3"),
		"pod-gone":     pod(fleet(t).planned(""), "web-old"),
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := usable.Table(&got); err != nil {
				t.Fatal(err)
			}
			golden := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("table (-want +got):\n%s", diff)
			}
		})
	}
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
	var table bytes.Buffer
	if err := p.Table(&table); err != nil {
		t.Fatal(err)
	}
	if rows := strings.Count(table.String(), "\no0"); rows != Listed || !strings.Contains(table.String(), "and 185 more; -o json lists all") {
		t.Errorf("%d rows in\n%s", rows, table.String())
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
