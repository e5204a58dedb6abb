package doctor_test

import (
	"strings"
	"testing"

	"github.com/evenkeel/evenkeel/observe/usage/metricsserver"
	"github.com/evenkeel/evenkeel/status/doctor"
)

// Annotations on the owner above a ReplicationController are read only if the policy names the
// owner's kind. The fix keeps the kinds that the policy already names.
func TestUnwatchedControllers(t *testing.T) {
	w := newFixture(t, metricsserver.Name)
	w.ask()
	w.installation.Load.Eviction.RecreatingControllers = []string{"CloneSet.apps.kruise.io"}
	for _, unwatched := range [][]string{nil, {"DeploymentConfig.apps.openshift.io"}} {
		w.installation.Unwatched = unwatched
		found := false
		for _, f := range doctor.Examine(w.installation).Findings {
			found = found || f.Level == doctor.Warning && strings.Contains(f.Says, "belong to DeploymentConfig.apps.openshift.io") &&
				strings.Contains(f.Fix, "recreatingControllers: [CloneSet.apps.kruise.io, DeploymentConfig.apps.openshift.io]")
		}
		if found != (unwatched != nil) {
			t.Errorf("%v: found %v", unwatched, found)
		}
	}
}

// An unreadable annotation of a Namespace is reported with the namespace's name.
func TestUnreadNamespaces(t *testing.T) {
	w := newFixture(t, metricsserver.Name)
	w.ask()
	for _, unread := range [][]string{nil, {"payments"}} {
		w.installation.InvalidAnnotations = unread
		found := false
		for _, f := range doctor.Examine(w.installation).Findings {
			found = found || f.Level == doctor.Warning && strings.Contains(f.Says, "payments") && strings.Contains(f.Fix, "evenkeel.io/evict")
		}
		if found != (unread != nil) {
			t.Errorf("%v: found %v", unread, found)
		}
	}
}
