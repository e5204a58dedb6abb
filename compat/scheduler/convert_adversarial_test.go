package scheduler_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/evenkeel/evenkeel/compat/scheduler"
)

// A mistake leads to one error that names the field, and never to a file that kube-scheduler would
// reject.
func TestConvertRefuses(t *testing.T) {
	extender := func(fields string) string {
		return `{"kind": "Policy", "apiVersion": "v1", "extenders": [{"urlPrefix": "x", ` + fields + `}]}`
	}
	cases := map[string]struct{ policy, want string }{
		"an unknown field": {`{"kind": "Policy", "apiVersion": "v1", "predicate": []}`,
			`predicate: Forbidden: unknown field "predicate", did you mean "predicates"? (allowed: alwaysCheckAllPredicates, apiVersion,`},
		"an unknown field of an extender": {extender(`"filter": "f"`), `extenders[0].filter: Forbidden: unknown field "filter", did you mean "filterVerb"?`},
		"an unknown field of its TLS":     {extender(`"tlsConfig": {"ca": "x"}`), `extenders[0].tlsConfig.ca: Forbidden: unknown field`},
		"the same field twice":            {extender(`"URLPrefix": "y"`), `extenders[0].urlPrefix: Duplicate value`},
		"no address":                      {`{"kind": "Policy", "apiVersion": "v1", "extenders": [{}]}`, `extenders[0].urlPrefix: Required value`},
		"a blank extender":                {`{"kind": "Policy", "apiVersion": "v1", "extenders": [null]}`, `extenders[0]: Required value: null is not allowed in a list`},
		"extenders that are not a list":   {`{"kind": "Policy", "apiVersion": "v1", "extenders": {"urlPrefix": "x"}}`, `extenders: Invalid value: "a mapping": must be a list`},
		"an extender that is text":        {`{"kind": "Policy", "apiVersion": "v1", "extenders": ["x"]}`, `extenders[0]: Invalid value: "x": must be a mapping`},
		"a time with a unit":              {extender(`"httpTimeout": "5s"`), `extenders[0].httpTimeout: Invalid value: "5s": must be a whole number`},
		"a time in seconds":               {extender(`"httpTimeout": 5`), `extenders[0].httpTimeout: Invalid value: 5: must be nanoseconds`},
		"a negative time":                 {extender(`"httpTimeout": -5000000000`), `extenders[0].httpTimeout: Invalid value: -5000000000: must be nanoseconds`},
		"a time out of range":             {extender(`"httpTimeout": 1e30`), `extenders[0].httpTimeout: Invalid value: 1e30: must be a whole number`},
		"scores without weight":           {extender(`"prioritizeVerb": "p"`), `extenders[0].weight: Invalid value: 0: must be above 0 with prioritizeVerb`},
		"a negative weight":               {extender(`"weight": -1`), `extenders[0].weight: Invalid value: -1: must not be negative`},
		"a weight that is text":           {extender(`"weight": "1"`), `extenders[0].weight: Invalid value: "1": must be a whole number`},
		"an invalid certificate":          {extender(`"tlsConfig": {"keyData": "-----BEGIN"}`), `extenders[0].tlsConfig.keyData: Invalid value: "(not shown)": must be base64`},
		"two extenders that bind": {`{"kind": "Policy", "apiVersion": "v1", "extenders": [{"urlPrefix": "x", "bindVerb": "b"}, {"urlPrefix": "y", "bindVerb": "b"}]}`,
			`extenders[1].bindVerb: Forbidden: extenders[0] already binds`},
		"a resource without name":  {extender(`"managedResources": [{}]`), `extenders[0].managedResources[0].name: Invalid value: "": must be the name of an extended resource`},
		"a built-in resource":      {extender(`"managedResources": [{"name": "memory"}]`), `extenders[0].managedResources[0].name: Invalid value: "memory"`},
		"a resource twice":         {extender(`"managedResources": [{"name": "a/b"}, {"name": "a/b"}]`), `extenders[0].managedResources[1].name: Duplicate value: "a/b"`},
		"an affinity out of range": {`{"kind": "Policy", "apiVersion": "v1", "hardPodAffinitySymmetricWeight": 101}`, `hardPodAffinitySymmetricWeight: Invalid value: 101`},
		"far too many": {`{"kind": "Policy", "apiVersion": "v1", "extenders": [` + strings.Repeat(`{},`, 100) + `{}]}`,
			`extenders: Too many: 101: must have at most 100 items`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, errs := scheduler.Convert(tree(t, tc.policy))
			if len(errs) != 1 || !strings.Contains(errs[0].Error(), tc.want) {
				t.Fatalf("errors %v, want one: %s", errs, tc.want)
			}
			if got.Format != scheduler.Format || got.Object != nil {
				t.Errorf("outcome %+v beside the error", got)
			}
		})
	}
}

// A list of parts is reported in one line.
func TestLongListsAreCut(t *testing.T) {
	got, errs := scheduler.Convert(tree(t, `{"kind": "Policy", "apiVersion": "v1", "predicates": [`+strings.Repeat(`{"name": "x"},`, 10_000)+`{"name": "x"}]}`))
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	if text := got.Notes[2].Text; len(text) > 300 || !strings.Contains(text, `"x", and 9993 more`) {
		t.Errorf("note %q", text)
	}
}

func TestIsRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"another kind":    `{"kind": "ConfigMap", "apiVersion": "v1"}`,
		"another version": `{"kind": "Policy", "apiVersion": "audit.k8s.io/v1"}`,
		"no version":      `{"kind": "Policy"}`,
		"no text":         `{"kind": ["Policy"], "apiVersion": {"v1": 1}}`,
	} {
		t.Run(name, func(t *testing.T) {
			if scheduler.Is(tree(t, text)) {
				t.Error("mistaken for a Policy")
			}
		})
	}
}

// If a document is accepted, kube-scheduler's own types accept the result.
func FuzzConvert(f *testing.F) {
	f.Add(`{"kind": "Policy", "apiVersion": "v1", "extenders": [{"urlPrefix": "x", "httpTimeout": 1000000, "tlsConfig": {"certData": "Yw=="}}]}`)
	f.Add(`{"kind": "Policy", "apiVersion": "v1", "priorities": [{"name": "x", "weight": 1}], "hardPodAffinitySymmetricWeight": 1}`)
	f.Add(`{"extenders": [{"URLPREFIX": "x", "managedResources": [{"name": "a/b", "ignoredByScheduler": true}], "BindVerb": "b"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		var object map[string]any
		if decoder.Decode(&object) != nil {
			return
		}
		if got, errs := scheduler.Convert(object); len(errs) == 0 {
			today(t, got)
		}
	})
}
