package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/evenkeel/evenkeel/test/cluster/tiers"
)

// The matrix runs the same cases on each release, except those that are left out on a release.
// --run narrows both lists.
func TestChoose(t *testing.T) {
	cases, err := tiers.Cases("../..")
	if err != nil {
		t.Fatal(err)
	}
	const byPolicy, byExtender = "TestSkewWithoutExtender", "TestRequestSkewIsCooled"
	for name, tc := range map[string]struct {
		options   options
		run, left []string // of the two above
		refused   bool
	}{
		"the default release runs both": {options: options{kubernetes: "1.36"}, run: []string{byExtender, byPolicy}},
		"an older one leaves one out":   {options: options{kubernetes: "1.35"}, run: []string{byExtender}, left: []string{byPolicy}},
		"of those that match":           {options: options{kubernetes: "1.35", match: byExtender}, run: []string{byExtender}},
		"none to run":                   {options: options{kubernetes: "1.35", match: byPolicy}, refused: true},
		"a pattern that is none":        {options: options{kubernetes: "1.35", match: "("}, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			tc.options.tier = string(tiers.Matrix)
			tasks, left, err := choose(cases, tc.options)
			if (err != nil) != tc.refused {
				t.Fatalf("%v, want it refused: %t", err, tc.refused)
			}
			for _, name := range []string{byExtender, byPolicy} {
				runs := slices.ContainsFunc(tasks, func(task tiers.Case) bool { return task.Name == name })
				if runs != slices.Contains(tc.run, name) {
					t.Errorf("%s runs: %t", name, runs)
				}
				out := slices.ContainsFunc(left, func(c tiers.CoreCase) bool { return c.Name == name })
				if out != slices.Contains(tc.left, name) {
					t.Errorf("%s is left out: %t", name, out)
				}
			}
		})
	}
}

// Impossible selections are refused before anything is built.
func TestRunRefuses(t *testing.T) {
	err := run(t.Context(), options{tier: "test", kubernetes: "1.2"}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "--kubernetes") {
		t.Errorf("%v is no error of --kubernetes", err)
	}
}

// The list of cases includes those that are left out on a release, with the reason.
func TestListNamesWhatIsLeftOut(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), options{tier: "matrix", kubernetes: "1.35", list: true}, &out); err != nil {
		t.Fatal(err)
	}
	if want := "left out on Kubernetes 1.35: e2e/admission TestSkewWithoutExtender: "; !strings.Contains(out.String(), want) {
		t.Errorf("the list has no %q:\n%s", want, out.String())
	}
}
