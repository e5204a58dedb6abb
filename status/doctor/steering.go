package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
)

// staleAfter is how long after its end a key counts as left behind by a process that no longer
// runs.
const staleAfter = time.Minute

// Installed reports whether any part of steering is installed.
func (s *Steering) Installed() bool {
	return slices.ContainsFunc(s.Parts, func(p Part) bool { return p.essential() && p.there() })
}

// essential reports whether steering requires the part. The other parts only restrict
// permissions.
func (p *Part) essential() bool { return !strings.HasPrefix(p.Kind, "Validating") }

// there reports whether the part is installed, in any version.
func (p *Part) there() bool { return p.State == PartShipped || p.State == PartOther }

// WebhookKind is the kind of the part that steers if no policy does. CABundle is the
// field of this part that is set after installation.
const (
	WebhookKind = "MutatingWebhookConfiguration"
	CABundle    = "webhooks[].clientConfig.caBundle"
)

func (p *Part) ofPolicy() bool { return strings.HasPrefix(p.Kind, "MutatingAdmissionPolicy") }

// ByWebhook reports whether `serve` steers instead of the API server: the webhook is installed and the policy is not.
func (s *Steering) ByWebhook() bool {
	return slices.ContainsFunc(s.Parts, func(p Part) bool { return p.Kind == WebhookKind && p.there() }) &&
		!slices.ContainsFunc(s.Parts, func(p Part) bool { return p.ofPolicy() && p.there() })
}

func (p *Part) name() string { return p.Kind + " " + p.Name }

// ByAPIServer reports whether the API server steers with the policy.
func (p *Installation) ByAPIServer() bool {
	switch p.Load.Eviction.Steering {
	case policy.SteeringAdmission:
		return true
	case policy.SteeringAuto:
		return p.Steering.Installed()
	case policy.SteeringRequired, policy.SteeringNone:
	}
	return false
}

func examineSteering(p *Installation, n *notes) {
	if !p.Mode.Evicts() {
		return
	}
	s, auto := &p.Steering, p.Load.Eviction.Steering == policy.SteeringAuto
	level := Problem
	if auto {
		level = Warning // an extender may steer instead
	}
	switch {
	case p.ByAPIServer():
		s.examineParts(n, level)
		if s.Installed() {
			s.examineFences(n, &p.Rights)
		}
		if len(n.findings) == 0 {
			n.ok("", "%s", s.steered(p.Rights.holdsPods(), auto))
		}
		s.hintWebhooks(n)
	case auto && len(s.Parts) > 0:
		n.ok("", "%s", s.absent())
	}
	s.examineLeft(n)
}

// absent explains why only an extender can steer.
func (s *Steering) absent() string {
	if slices.ContainsFunc(s.Parts, func(p Part) bool { return p.essential() && p.State == PartUnread }) {
		return "Whether the API server steers was not checked, because reading this is not allowed: " + list(s.Unread) + "."
	}
	return "The API server does not steer, because deploy/components/admission-steering is not installed, so only an extender can."
}

// examineParts checks the objects that the API server needs for steering.
func (s *Steering) examineParts(n *notes, level Level) {
	byWebhook := s.ByWebhook()
	if s.Unserved && !byWebhook {
		n.add(level, "", "The API server (%s) does not serve MutatingAdmissionPolicy in v1, so it cannot steer.", version(s)).
			fix("It needs Kubernetes 1.36. With an older version, list deploy/components/admission-steering-webhook (docs/admission.md),\n" +
				"or let kube-scheduler ask the extender:\neviction: {steering: required}")
		return
	}
	var wrong []string
	for i := range s.Parts {
		switch part := &s.Parts[i]; {
		case byWebhook && part.ofPolicy(), !byWebhook && part.Kind == WebhookKind, !part.essential():
		case part.Where == CABundle:
			n.add(level, "webhook", "The API server cannot call the webhook, because it has no CA to verify it (%s).", CABundle).
				fix("cert-manager fills it in with the component cert-manager. Without that, as `evenkeel certificates` prints:\n" +
					"kubectl patch mutatingwebhookconfiguration evenkeel-steer --patch-file pki/webhook.yaml")
		default:
			wrong = append(wrong, part.wrong()...)
		}
	}
	if len(wrong) > 0 {
		n.add(level, "", "The API server does not steer as this version requires: %s.", list(wrong)).fix(applyAgain)
	}
}

const applyAgain = "Reapply the manifests of this version, with deploy/components/admission-steering (or -names, or -webhook) among the\n" +
	"components of the overlay:\nkubectl apply -k OVERLAY"

// wrong describes the problems with the part.
func (p *Part) wrong() []string {
	switch p.State {
	case PartMissing:
		return []string{p.name() + " is missing"}
	case PartOther:
		return []string{fmt.Sprintf("%s is not this version's (%s)", p.name(), p.Where)}
	case PartUnread, PartShipped:
	}
	return nil
}

// podsFence restricts the permission to patch pods to gates and nominations.
const podsFence = "evenkeel-pods"

// examineFences checks the objects that restrict the permissions of steering.
func (s *Steering) examineFences(n *notes, rights *Rights) {
	var wrong []string
	for i := range s.Parts {
		part := &s.Parts[i]
		if part.essential() || part.Name == podsFence && !rights.holdsPods() {
			continue
		}
		wrong = append(wrong, part.wrong()...)
	}
	if len(wrong) > 0 {
		n.warning("fence", "Anyone with Evenkeel's token can create or change pods beyond what steering needs: %s.", list(wrong)).fix(applyAgain)
	}
}

// holdsPods checks whether held pods can be released.
func (r *Rights) holdsPods() bool {
	may := func(resource string) bool {
		return slices.ContainsFunc(r.Answers, func(a Answer) bool { return a.Allowed && a.Verb == "patch" && a.Resource == resource })
	}
	return may("pods") && may("pods/status")
}

// steered describes which pods are steered, and how. Held pods are steered with a gate.
func (s *Steering) steered(holds, auto bool) string {
	how := "holds replacements with a gate until their planned node is nominated"
	if !holds {
		how = "restricts replacements to node names, because it is not allowed to patch held pods"
	}
	by := ""
	if s.ByWebhook() {
		by = ", which asks serve,"
	}
	if auto {
		how += ", while kube-scheduler asks no extender"
	}
	text := fmt.Sprintf("The API server (%s)%s %s.", version(s), by, how)
	if keys, namespaces := s.open(); keys > 0 {
		text += fmt.Sprintf(" %s open in %s.", reasons.Are(keys, "key"), reasons.Count(namespaces, "namespace"))
	}
	if len(s.Unread) > 0 {
		text += " Not checked, because reading this is not allowed: " + list(s.Unread) + "."
	}
	return text
}

func version(s *Steering) string {
	if s.Version == "" {
		return "of an unknown version"
	}
	return s.Version
}

// open counts the keys that have not ended, and the namespaces that have such keys.
func (s *Steering) open() (keys, namespaces int) {
	for i := range s.Keys {
		open := 0
		for _, end := range s.Keys[i].Ends {
			if s.At.Before(end) {
				open++
			}
		}
		keys += open
		namespaces += min(open, 1)
	}
	return keys, namespaces
}

// hintWebhooks lists webhooks that may change pods after they were steered.
func (s *Steering) hintWebhooks(n *notes) {
	var hooks []string
	for i := range s.Webhooks {
		w := &s.Webhooks[i]
		hooks = append(hooks, fmt.Sprintf("%s (failurePolicy %s, reinvocationPolicy %s)", w.Name, w.FailurePolicy, w.ReinvocationPolicy))
	}
	if len(hooks) > 0 {
		n.ok("webhooks", "They also see new pods, and could undo steering or fail the dry run that proves it: %s.", list(hooks))
	}
}

// examineLeft finds objects that processes have left behind.
func (s *Steering) examineLeft(n *notes) {
	var namespaces []string
	stale := 0
	for i := range s.Keys {
		before := stale
		for _, end := range s.Keys[i].Ends {
			if end.Add(staleAfter).Before(s.At) {
				stale++
			}
		}
		if stale > before {
			namespaces = append(namespaces, s.Keys[i].Namespace)
		}
	}
	if stale > 0 {
		n.warning("keys", "%s still present more than a minute after the end, in %s: no process has run a cycle since.",
			reasons.Are(stale, "key"), list(namespaces)).
			fix("They steer nothing. The next cycle takes over those of moves in flight and deletes the rest. If no cycle will run again: evenkeel cleanup")
	}
	if len(s.Held) > 0 {
		n.problem("pods", "%s held by the gate evenkeel.io/steer for longer than %v, and no process removes it: %s.",
			reasons.Are(len(s.Held), "pod"), s.Overdue, list(s.Held)).
			fix("Check whether a replica of run or serve is alive and has permission to patch pods (deploy/components/admission-steering).\nTo release them now: evenkeel cleanup")
	}
}
