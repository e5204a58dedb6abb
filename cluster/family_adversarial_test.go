package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFamilyOf(t *testing.T) {
	cases := map[string]struct {
		kind, name, hash string
		want             string
	}{
		"a Deployment's ReplicaSet":                     {"ReplicaSet", "web-5d4f8c7b9", "5d4f8c7b9", "web"},
		"a Deployment with dashes in its name":          {"ReplicaSet", "web-api-v2-5d4f8c7b9", "5d4f8c7b9", "web-api-v2"},
		"a Deployment called like a hash":               {"ReplicaSet", "5d4f8c7b9-5d4f8c7b9", "5d4f8c7b9", "5d4f8c7b9"},
		"a one-letter hash":                             {"ReplicaSet", "web-x", "x", "web"},
		"pods without the label":                        {"ReplicaSet", "web-5d4f8c7b9", "", ""},
		"another ReplicaSet's hash":                     {"ReplicaSet", "web-5d4f8c7b9", "7c9f", ""},
		"the hash without a dash before it":             {"ReplicaSet", "web5d4f8c7b9", "5d4f8c7b9", ""},
		"the hash in the middle":                        {"ReplicaSet", "web-5d4f8c7b9-canary", "5d4f8c7b9", ""},
		"a name that is the hash alone":                 {"ReplicaSet", "5d4f8c7b9", "5d4f8c7b9", ""},
		"a name that is a dash and the hash":            {"ReplicaSet", "-5d4f8c7b9", "5d4f8c7b9", ""},
		"a name shorter than the hash":                  {"ReplicaSet", "web", "5d4f8c7b9", ""},
		"a hash in other letters":                       {"ReplicaSet", "web-ABC", "abc", ""},
		"an independent ReplicaSet with a plain name":   {"ReplicaSet", "web", "web", ""},
		"a StatefulSet whose pods have a template hash": {"StatefulSet", "web-5d4f8c7b9", "5d4f8c7b9", ""},
		"a DaemonSet whose pods have a template hash":   {"DaemonSet", "web-5d4f8c7b9", "5d4f8c7b9", ""},
		"a custom kind":                                 {"CloneSet", "web-5d4f8c7b9", "5d4f8c7b9", ""},
		"a pod without an owner that has a hash label":  {"", "", "5d4f8c7b9", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			want := Family{}
			if tc.want != "" {
				want = Family{Namespace: "shop", Name: tc.want}
			}
			got := FamilyOf("shop", Owner{UID: "u", Kind: tc.kind, Name: tc.name}, tc.hash)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("family (-want +got):\n%s", diff)
			}
		})
	}
}
