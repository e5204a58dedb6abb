package status

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// The conclusion about steering depends first on the policy, then on a hold, then on proof. Nothing
// unproven is called proven.
func TestSteering(t *testing.T) {
	landed := func(asked bool, node string, ago time.Duration) ledger.Move {
		return ledger.Move{
			Intent: ledger.Intent{Namespace: "shop", Pod: "web-1", To: "n4"}, State: ledger.Landed, Node: node, Asked: asked, Ended: noon.Add(-ago),
		}
	}
	hold := ledger.Hold{Reason: string(reasons.ProbeNotLanded), Since: noon.Add(-time.Minute), Until: noon.Add(29 * time.Minute)}
	cases := map[string]struct {
		evidence  SteeringEvidence
		state, by string
	}{
		"off, whatever else": {SteeringEvidence{Required: policy.SteeringNone, Asked: 5, Hold: hold}, SteeringOff, "the policy's eviction.steering is none"},
		"on hold":            {SteeringEvidence{Required: policy.SteeringAuto, Asked: 5, Hold: hold}, SteeringAbsent, "60s ago the first replacement was not bound in time (ProbeNotLanded)"},
		"asked": {
			SteeringEvidence{Required: policy.SteeringRequired, Extender: "http://e", Asked: 1}, SteeringProven, "kube-scheduler has asked the extender at http://e, 1 time",
		},
		"asked about the newest landing": {
			SteeringEvidence{Required: policy.SteeringAuto, Ended: []ledger.Move{landed(true, "n4", time.Hour)}}, SteeringProven,
			"kube-scheduler asked about the replacement of shop/web-1, which landed on n4 60m ago",
		},
		"asked about one long ago": {
			SteeringEvidence{Required: policy.SteeringRequired, Ended: []ledger.Move{landed(true, "n4", recent)}}, SteeringUnproven, "no extender was asked, because --extender-url is not set",
		},
		"not asked about the newest": {
			SteeringEvidence{Required: policy.SteeringAuto, Ended: []ledger.Move{landed(true, "n4", time.Hour), landed(false, "n5", time.Minute)}}, SteeringUnproven,
			"no extender was asked, because --extender-url is not set; of 2 moves in the last day 1 landed as planned",
		},
		"nobody asks": {
			SteeringEvidence{Required: policy.SteeringRequired, Extender: "http://e"}, SteeringUnproven, "kube-scheduler has not asked the extender at http://e since it started",
		},
		"no answer": {
			SteeringEvidence{Required: policy.SteeringAuto, Extender: "http://e", Err: errors.New("connection refused")}, SteeringUnproven, "the extender at http://e could not be asked: connection refused",
		},
		"the API server may": {SteeringEvidence{Required: policy.SteeringAuto, Installed: true}, SteeringUnproven, "the API server may steer, but a plan does not test that"},
		"admission, and an extender is asked": {
			SteeringEvidence{Required: policy.SteeringAdmission, Installed: true, Asked: 5}, SteeringUnproven, "the API server may steer, but a plan does not test that",
		},
		"admission is not installed": {
			SteeringEvidence{Required: policy.SteeringAdmission}, SteeringAbsent, "the API server has no Steerings: deploy/components/admission-steering is not installed",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := tc.evidence.Conclude(noon)
			want := Steering{Required: string(tc.evidence.Required), State: tc.state, By: tc.by, Means: got.Means}
			if diff := cmp.Diff(want, got); diff != "" || got.Means == "" {
				t.Errorf("means %q (-want +got):\n%s", got.Means, diff)
			}
		})
	}
}
