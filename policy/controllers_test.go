package policy

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// A name that can never be the kind of an owner is rejected, with a hint at the correct form.
func TestControllersAreKinds(t *testing.T) {
	for text, want := range map[string]string{
		"CloneSet.apps.kruise.io": "", "StatefulSet.apps.kruise.io": "", "Rollout.argoproj.io": "", "PodSet2.v1x.example.com": "",
		"StatefulSet.v1beta1.apps.kruise.io": "without a version: StatefulSet.apps.kruise.io",
		"CloneSet.v1alpha1.apps.kruise.io":   "without a version: CloneSet.apps.kruise.io",
		"StatefulSet.v1.apps":                "without a version: StatefulSet.apps",
		"Pod.v1":                             "must be Kind.group",
		"statefulsets.apps.kruise.io":        "not the resource",
		"cloneset.apps.kruise.io":            "not the resource",
		"apps.kruise.io/CloneSet":            "must be Kind.group",
		"Clone Set.apps.kruise.io":           "not the resource",
		"CloneSet":                           "must be Kind.group",
		"":                                   "must be Kind.group",
		"Job.batch":                          "evictJobs",
	} {
		errs := validateController(text, field.NewPath("recreatingControllers").Index(0))
		if got := errs.ToAggregate(); (got == nil) != (want == "") || got != nil && !strings.Contains(got.Error(), want) {
			t.Errorf("%q: %v, want %q", text, got, want)
		}
	}
}
