package doctor_test

import (
	"strings"
	"testing"

	"github.com/evenkeel/evenkeel/internal/doctor"
	"github.com/evenkeel/evenkeel/usage/metricsserver"
)

// A wish of a Namespace that nobody can read is reported with its name.
func TestUnreadNamespaces(t *testing.T) {
	w := newWard(t, metricsserver.Name)
	w.ask()
	for _, unread := range [][]string{nil, {"payments"}} {
		w.patient.Unread = unread
		found := false
		for _, f := range doctor.Examine(w.patient).Findings {
			found = found || f.Level == doctor.Warning && strings.Contains(f.Says, "payments") && strings.Contains(f.Mend, "evenkeel.io/evict")
		}
		if found != (unread != nil) {
			t.Errorf("%v: found %v", unread, found)
		}
	}
}
