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
