package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/descheduler/pkg/api"
)

func TestSparedNamespaces(t *testing.T) {
	cases := map[string]struct {
		given *api.Namespaces
		want  []string // the namespaces a, b and c
	}{
		"nothing given":    {nil, nil},
		"empty lists":      {&api.Namespaces{Include: []string{}, Exclude: []string{}}, nil},
		"some included":    {&api.Namespaces{Include: []string{"a", "c"}}, []string{"b"}},
		"some excluded":    {&api.Namespaces{Exclude: []string{"a", "c"}}, []string{"a", "c"}},
		"one that is gone": {&api.Namespaces{Include: []string{"gone"}}, []string{"a", "b", "c"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			of := StrategyDescription{Namespaces: tc.given}
			var spared []string
			for _, namespace := range []string{"a", "b", "c"} {
				if of.Spares(namespace) {
					spared = append(spared, namespace)
				}
			}
			if diff := cmp.Diff(tc.want, spared); diff != "" {
				t.Errorf("spared (-want +got):\n%s", diff)
			}
		})
	}
}
