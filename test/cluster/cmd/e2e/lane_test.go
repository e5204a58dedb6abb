package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The messages of a failed case are repeated at the end, without the logs of processes.
func TestComplaints(t *testing.T) {
	o := outcome{problems: []string{"TestA/b did not run"}, output: `=== RUN   TestA
    crowd_test.go:56: no cycle planned twenty moves
    stage.go:185: log of evenkeel serve:
        I1123 21:50:34.124354   10282 reflector.go:507] "Caches populated"
    crowd_test.go:60: ` + strings.Repeat("x", 1000) + `
--- FAIL: TestA (70.78s)
`}
	want := []string{
		"TestA/b did not run",
		"crowd_test.go:56: no cycle planned twenty moves",
		"stage.go:185: log of evenkeel serve:",
		"crowd_test.go:60: " + strings.Repeat("x", maxComplaintSize-len("crowd_test.go:60: ")),
	}
	if diff := cmp.Diff(want, o.complaints()); diff != "" {
		t.Errorf("complaints (-want +got):\n%s", diff)
	}
}

// A skipped case says why, in the output of a binary that ran others, too.
func TestWhySkipped(t *testing.T) {
	o := outcome{output: `=== RUN   TestA
    stage.go:7: unrelated
--- PASS: TestA (0.10s)
=== RUN   TestB
    kubelets.go:52: this machine cannot run real kubelets: only root may
--- SKIP: TestB (0.00s)
--- SKIP: TestC (0.00s)
`}
	for name, want := range map[string]string{
		"TestB": "this machine cannot run real kubelets: only root may",
		"TestC": "it gave no reason",
	} {
		if got := o.whySkipped(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
