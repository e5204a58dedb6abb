package tiers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The matrix lists only existing cases, each once. A case that does not run on the oldest release
// has a reason.
func TestMatrixListsExistingCases(t *testing.T) {
	cases, err := Cases(module)
	if err != nil {
		t.Fatal(err)
	}
	core, err := CoreCases()
	if err != nil {
		t.Fatal(err)
	}
	const oldest, newest = "1.34", "1.37"
	if run, left, err := On(newest, core, cases); err != nil || len(run) != len(core) || len(left) > 0 {
		t.Errorf("on %s run %d of %d cases, %v", newest, len(run), len(core), err)
	}
	seen := map[string]bool{}
	for _, c := range core {
		if seen[c.Package+" "+c.Name] {
			t.Errorf("%s %s is listed twice", c.Package, c.Name)
		}
		seen[c.Package+" "+c.Name] = true
		if (c.Why == "") != (c.From == oldest) {
			t.Errorf("%s %s runs from %s on, because %q", c.Package, c.Name, c.From, c.Why)
		}
	}
}

// A release runs the cases, of every tier, that are listed for it or an older release, and lists
// those that it leaves out.
func TestOn(t *testing.T) {
	cases := []Case{
		{Tier: Test, Package: "e2e", Name: "TestA"}, {Tier: All, Package: "e2e/admission", Name: "TestB"}, {Tier: Test, Package: "e2e", Name: "TestC"},
	}
	core, err := readMatrix(strings.NewReader("# core\n\n1.34 e2e TestA\n1.36 e2e/admission TestB it is on from 1.36 on\n"))
	if err != nil {
		t.Fatal(err)
	}
	type found struct{ Run, Left []string }
	for release, want := range map[string]found{
		"1.9":  {Left: []string{"TestA", "TestB: it is on from 1.36 on"}},
		"1.35": {Run: []string{"TestA"}, Left: []string{"TestB: it is on from 1.36 on"}},
		"1.36": {Run: []string{"TestA", "TestB"}},
	} {
		t.Run(release, func(t *testing.T) {
			run, left, err := On(release, core, cases)
			if err != nil {
				t.Fatal(err)
			}
			var got found
			for _, c := range run {
				got.Run = append(got.Run, c.Name)
			}
			for _, c := range left {
				got.Left = append(got.Left, strings.TrimSuffix(c.Name+": "+c.Why, ": "))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("matrix (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMatrixRefuses(t *testing.T) {
	for name, line := range map[string]string{
		"too few fields": "1.34 e2e", "no release": "34 e2e TestA", "a release of words": "1.new e2e TestA",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := readMatrix(strings.NewReader(line)); err == nil {
				t.Errorf("%q is read", line)
			}
		})
	}
	core := []CoreCase{{From: "1.34", Package: "e2e", Name: "TestGone"}}
	if _, _, err := On("1.36", core, nil); err == nil {
		t.Error("a case that there is not is run")
	}
	if _, _, err := On("36", nil, nil); err == nil {
		t.Error("a release that there is not runs cases")
	}
}

// docs/compatibility.md lists each case of the matrix with exactly the releases that leave it out.
func TestCompatibilityHasTheMatrix(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "compatibility.md"))
	if err != nil {
		t.Fatal(err)
	}
	core, err := CoreCases()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]map[string]bool{}
	for _, c := range core {
		want[c.Name] = map[string]bool{}
		for _, release := range []string{"1.34", "1.35", "1.36", "1.37"} {
			_, left, err := On(release, []CoreCase{c}, []Case{{Tier: Test, Package: c.Package, Name: c.Name}})
			if err != nil {
				t.Fatal(err)
			}
			want[c.Name][release] = len(left) > 0
		}
	}
	got, releases := map[string]map[string]bool{}, []string(nil)
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) < 3 {
			continue
		}
		cells, name := cells[2:], strings.Trim(cells[1], "`")
		if name == "case" {
			releases = strings.Fields(strings.Join(cells, " "))
		}
		if !strings.HasPrefix(name, "Test") {
			continue
		}
		got[name] = map[string]bool{}
		for i, release := range releases {
			got[name][release] = strings.TrimSpace(cells[i]) == "left out"
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the releases leave out (-matrix.txt +compatibility.md):\n%s", diff)
	}
}
