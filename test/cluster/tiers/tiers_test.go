package tiers

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The packages whose tests are cases, beside everything under e2e: those that
// start clusters.
var others = []string{".", "cmd/demo", "cmd/throughput"}

// Each test function that needs a cluster is on the list once, and nothing else
// is.
func TestListAndCodeAgree(t *testing.T) {
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, c := range cases {
		if !c.IsSubtest() {
			listed = append(listed, c.Package+" "+c.Name)
		}
	}
	slices.Sort(listed)
	if diff := cmp.Diff(functions(t), listed); diff != "" {
		t.Errorf("test functions of the code and of cases.txt (-code +list):\n%s", diff)
	}
}

// functions are the test functions by package, sorted.
func functions(t *testing.T) (found []string) {
	t.Helper()
	const module = ".."
	err := filepath.WalkDir(module, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		folder, err := filepath.Rel(module, filepath.Dir(path))
		folder = filepath.ToSlash(folder)
		inE2E := folder == "e2e" || strings.HasPrefix(folder, "e2e/")
		if err != nil || !inE2E && !slices.Contains(others, folder) {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declared := range file.Decls {
			function, ok := declared.(*ast.FuncDecl)
			if ok && function.Recv == nil && strings.HasPrefix(function.Name.Name, "Test") && function.Name.Name != "TestMain" {
				found = append(found, folder+" "+function.Name.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(found)
	return found
}

// A subtest is never run without its function, so it cannot be of an earlier
// tier.
func TestSubtestsFollowTheirFunctions(t *testing.T) {
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	tiers := map[string]Tier{}
	for _, c := range cases {
		if _, twice := tiers[c.Package+" "+c.Name]; twice {
			t.Errorf("%s %s is listed twice", c.Package, c.Name)
		}
		tiers[c.Package+" "+c.Name] = c.Tier
	}
	for _, c := range cases {
		if function := tiers[c.Package+" "+c.Function()]; !c.Tier.includes(function) && c.Tier != function {
			t.Errorf("%s is of tier %s, its function of %q", c.Name, c.Tier, function)
		}
	}
}

// What is written is read as the same, and the list is as it is written.
func TestWriteAndRead(t *testing.T) {
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	var written bytes.Buffer
	if err := Write(&written, cases); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(list, written.String()); diff != "" {
		t.Errorf("cases.txt and what is written of it (-file +written):\n%s", diff)
	}
}

func TestReadRefuses(t *testing.T) {
	for name, line := range map[string]string{
		"too few fields": "test 1 e2e", "an unknown tier": "sometimes 1 e2e TestX", "no number": "test soon e2e TestX",
		"an unknown mark": "test 1 e2e TestX apart",
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Read(strings.NewReader(line)); err == nil {
				t.Errorf("%q is read", line)
			}
		})
	}
}

// A tier runs its own cases and leaves subtests of others out; all includes
// test, and nothing includes measure.
func TestTasks(t *testing.T) {
	const text = `test 10 e2e TestA alone
test - e2e TestA/quick
all - e2e TestA/slow_(2)
all 20 e2e TestB
measure 900 e2e TestC
`
	cases, err := Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	type task struct {
		Name, Run, Skip string
		Alone           bool
		Subtests        []string
	}
	tests := map[Tier][]task{
		Test: {{Name: "TestA", Run: "^TestA$", Skip: `^TestA$/^slow_\(2\)$`, Alone: true, Subtests: []string{"TestA/quick"}}},
		All: {
			{Name: "TestA", Run: "^TestA$", Alone: true, Subtests: []string{"TestA/quick", "TestA/slow_(2)"}},
			{Name: "TestB", Run: "^TestB$"},
		},
	}
	for tier, want := range tests {
		t.Run(string(tier), func(t *testing.T) {
			var got []task
			for _, one := range Tasks(cases, tier) {
				got = append(got, task{one.Name, one.Run(), one.Skip(), one.Alone, one.Subtests})
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("tasks (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDifferences(t *testing.T) {
	task := Task{Case: Case{Name: "TestA"}, Subtests: []string{"TestA/one"}}
	if words := task.Differences([]string{"TestA", "TestA/one"}); len(words) != 0 {
		t.Errorf("differences %q, want none", words)
	}
	if words := task.Differences([]string{"TestA", "TestA/two"}); len(words) != 2 {
		t.Errorf("differences %q, want one missing and one too many", words)
	}
}
