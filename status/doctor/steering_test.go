package doctor_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/observe/usage/metricsserver"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/status/doctor"
)

// steeringCase changes a installation whose API server steers as shipped.
type steeringCase struct {
	name     string
	steering policy.Steering
	change   func(*doctor.Installation)
}

func part(p *doctor.Installation, name string) *doctor.Part {
	i := slices.IndexFunc(p.Steering.Parts, func(x doctor.Part) bool { return x.Kind+" "+x.Name == name })
	return &p.Steering.Parts[i]
}

func all(p *doctor.Installation, state doctor.PartState) {
	p.Steering.Unread = nil
	for i := range p.Steering.Parts {
		p.Steering.Parts[i].State = state
		if kind := p.Steering.Parts[i].Kind; state == doctor.PartUnread && !slices.Contains(p.Steering.Unread, kind) {
			p.Steering.Unread = append(p.Steering.Unread, kind)
		}
	}
}

func nothing(*doctor.Installation) {}

func byNames(p *doctor.Installation) { p.Rights.Answers = nil }

func steeringCases() []steeringCase {
	return []steeringCase{
		{"required, all well", policy.SteeringRequired, nothing},
		{"none, all well", policy.SteeringNone, nothing},
		{"auto, not installed", policy.SteeringAuto, func(p *doctor.Installation) { all(p, doctor.PartMissing) }},
		{"auto, may not be read", policy.SteeringAuto, func(p *doctor.Installation) { all(p, doctor.PartUnread) }},
		{"auto, all well", policy.SteeringAuto, nothing},
		{"auto, not served", policy.SteeringAuto, func(p *doctor.Installation) { p.Steering.Unserved, p.Steering.Version = true, "v1.35.2" }},
		{"auto, the binding is missing", policy.SteeringAuto, func(p *doctor.Installation) {
			part(p, "MutatingAdmissionPolicyBinding evenkeel-steer").State = doctor.PartMissing
		}},
		{"admission, all well", policy.SteeringAdmission, nothing},
		{"admission, keys are open", policy.SteeringAdmission, func(p *doctor.Installation) {
			p.Steering.Keys = []doctor.Keys{
				{Namespace: "shop", Ends: []time.Time{noon.Add(time.Second), noon.Add(time.Minute)}}, {Namespace: "vault", Ends: []time.Time{noon.Add(time.Second)}},
				{Namespace: "old", Ends: []time.Time{noon.Add(-time.Minute)}},
			}
		}},
		{"admission, one key is open", policy.SteeringAdmission, func(p *doctor.Installation) {
			p.Steering.Keys = []doctor.Keys{{Namespace: "shop", Ends: []time.Time{noon.Add(time.Second)}}}
		}},
		{"admission, by names", policy.SteeringAdmission, byNames},
		{"admission, may not be read", policy.SteeringAdmission, func(p *doctor.Installation) { all(p, doctor.PartUnread); p.Steering.Version = "" }},
		{"admission, not served", policy.SteeringAdmission, func(p *doctor.Installation) { p.Steering.Unserved, p.Steering.Version = true, "v1.35.2" }},
		{"admission, not installed", policy.SteeringAdmission, func(p *doctor.Installation) { all(p, doctor.PartMissing) }},
		{"admission, in another version", policy.SteeringAdmission, func(p *doctor.Installation) {
			steer := part(p, "MutatingAdmissionPolicy evenkeel-steer")
			steer.State, steer.Where = doctor.PartOther, "spec.matchConditions[1].expression"
			part(p, "Namespace evenkeel-probe").State = doctor.PartMissing
		}},
		{"admission, no fences", policy.SteeringAdmission, withoutFences},
		{"admission, no fences, by names", policy.SteeringAdmission, func(p *doctor.Installation) { byNames(p); withoutFences(p) }},
		{"admission, webhooks", policy.SteeringAdmission, func(p *doctor.Installation) {
			p.Steering.Webhooks = []doctor.Webhook{
				{Name: "mesh/inject.example.com", FailurePolicy: "Fail", ReinvocationPolicy: "IfNeeded"}, {Name: "vpa/vpa.k8s.io", FailurePolicy: "Ignore", ReinvocationPolicy: "Never"},
			}
		}},
		{"auto, by webhook, all well", policy.SteeringAuto, byWebhook},
		{"admission, by webhook, all well", policy.SteeringAdmission, byWebhook},
		{"admission, by a webhook of another version", policy.SteeringAdmission, func(p *doctor.Installation) {
			byWebhook(p)
			hook := part(p, "MutatingWebhookConfiguration evenkeel-steer")
			hook.State, hook.Where = doctor.PartOther, "webhooks[0].failurePolicy"
			part(p, "Namespace evenkeel-probe").State = doctor.PartMissing
		}},
		{"admission, by webhook without a CA", policy.SteeringAdmission, func(p *doctor.Installation) {
			byWebhook(p)
			hook := part(p, "MutatingWebhookConfiguration evenkeel-steer")
			hook.State, hook.Where = doctor.PartOther, doctor.CABundle
		}},
		{"admission, by both, all well", policy.SteeringAdmission, func(p *doctor.Installation) {
			part(p, "MutatingWebhookConfiguration evenkeel-steer").State = doctor.PartShipped
		}},
		{"required, left behind", policy.SteeringRequired, func(p *doctor.Installation) {
			p.Steering.Keys = []doctor.Keys{
				{Namespace: "shop", Ends: []time.Time{{}, noon.Add(-61 * time.Second)}}, {Namespace: "vault", Ends: []time.Time{noon.Add(-time.Minute), noon}},
			}
			p.Steering.Held = []string{"shop/web-1", "shop/web-2"}
		}},
	}
}

// byWebhook installs the content of the webhook component, on an API server without the policy's
// kind.
func byWebhook(p *doctor.Installation) {
	p.Steering.Unserved, p.Steering.Version = true, "v1.35.2"
	for _, kind := range []string{"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"} {
		part(p, kind+" evenkeel-steer").State = doctor.PartMissing
	}
	part(p, "MutatingWebhookConfiguration evenkeel-steer").State = doctor.PartShipped
}

func withoutFences(p *doctor.Installation) {
	for i := range p.Steering.Parts {
		if strings.HasPrefix(p.Steering.Parts[i].Kind, "Validating") {
			p.Steering.Parts[i].State = doctor.PartMissing
		}
	}
}

func steeringPatient(t *testing.T, tc *steeringCase) *doctor.Installation {
	t.Helper()
	p := newFixture(t, metricsserver.Name).ask().installation
	p.Load.Eviction.Steering = tc.steering
	p.Steering = doctor.Steering{Version: "v1.36.3", At: noon, Overdue: 30 * time.Second}
	for _, name := range []string{
		"CustomResourceDefinition steerings.evenkeel.io", "Namespace evenkeel-probe", "MutatingAdmissionPolicy evenkeel-steer",
		"MutatingAdmissionPolicyBinding evenkeel-steer", "ValidatingAdmissionPolicy evenkeel-probe", "ValidatingAdmissionPolicyBinding evenkeel-probe",
		"ValidatingAdmissionPolicy evenkeel-pods", "ValidatingAdmissionPolicyBinding evenkeel-pods",
	} {
		kind, name, _ := strings.Cut(name, " ")
		p.Steering.Parts = append(p.Steering.Parts, doctor.Part{Kind: kind, Name: name, State: doctor.PartShipped})
	}
	p.Steering.Parts = append(p.Steering.Parts, doctor.Part{Kind: doctor.WebhookKind, Name: "evenkeel-steer", State: doctor.PartMissing})
	for _, resource := range []string{"pods", "pods/status"} {
		p.Rights.Answers = append(p.Rights.Answers, doctor.Answer{Need: doctor.Need{Verb: "patch", Resource: resource, Fallback: true}, Allowed: true})
	}
	tc.change(p)
	return p
}

// The cases show the findings about steering by the API server, and their fixes. If all is well,
// there is one finding, or none if the policy does not use such steering.
func TestSteering(t *testing.T) {
	var said bytes.Buffer
	for _, tc := range steeringCases() {
		var of []doctor.Finding
		for _, f := range doctor.Examine(steeringPatient(t, &tc)).Findings {
			if f.Check == doctor.CheckSteering {
				of = append(of, f)
			}
		}
		fmt.Fprintf(&said, "# %s\n", tc.name)
		said.WriteString(printed(doctor.NewReport(of), layout.Style{}))
		if well := strings.HasSuffix(tc.name, "all well"); well && len(of) > 1 || well && len(of) == 1 && of[0].Level != doctor.OK {
			t.Errorf("%s: %+v", tc.name, of)
		}
		for _, f := range of {
			if (f.Level == doctor.OK) != (f.Fix == "") {
				t.Errorf("%s: %s: fix %q", tc.name, f.Says, f.Fix)
			}
		}
	}
	golden(t, "steering.txt", said.String())
}

// If the process does not evict, doctor reports neither steering nor leftovers.
func TestSteeringOfAnExtender(t *testing.T) {
	p := steeringPatient(t, &steeringCase{"", policy.SteeringAdmission, func(p *doctor.Installation) { all(p, doctor.PartMissing) }})
	for _, mode := range []doctor.Mode{doctor.ModeExtender, doctor.ModeNodeSync} {
		if p.Mode = mode; len(found(p, doctor.CheckSteering)) > 0 {
			t.Errorf("%s: %q", mode, found(p, doctor.CheckSteering))
		}
	}
}

// Steering needs its own permissions. Without those on pods, it works in another way.
func TestNeedsOfSteering(t *testing.T) {
	p := process(doctor.ModeServe, metricsserver.Name)
	without := p.Needs()
	p.ByAPIServer = true
	var got []string
	for _, need := range p.Needs() {
		if !slices.Contains(without, need) {
			got = append(got, fmt.Sprintf("%s %s.%s %s %v", need.Verb, need.Resource, need.Group, need.Namespace, need.Fallback))
		}
	}
	p.ByWebhook = true
	byWebhook := slices.DeleteFunc(p.Needs(), func(need doctor.Need) bool { return slices.Contains(without, need) })
	if i := slices.IndexFunc(byWebhook, func(need doctor.Need) bool { return need.Verb == "watch" && need.Resource == "steerings" }); i < 0 || len(byWebhook) != len(got)+1 {
		t.Errorf("by the webhook: %v", byWebhook)
	}
	want := []string{
		"list steerings.evenkeel.io  false", "create steerings.evenkeel.io  false", "patch steerings.evenkeel.io  false", "delete steerings.evenkeel.io  false",
		"create pods. evenkeel-probe false", "patch pods.  true", "patch pods/status.  true",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
