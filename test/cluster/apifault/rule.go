package apifault

import (
	"slices"
	"time"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// Kind is a way in which a request to the API server fails.
type Kind string

// The kinds of effects.
const (
	// Pass changes nothing.
	Pass Kind = ""
	// Reset ends the request without an answer; the API server never sees it.
	Reset Kind = "reset"
	// Silent never answers; the API server never sees the request.
	Silent Kind = "silent"
	// Slow passes the request on late.
	Slow Kind = "slow"
	// Status answers with an HTTP error; the API server never sees the request.
	Status Kind = "status"
	// Lost lets the API server do what is requested but resets its response.
	Lost Kind = "lost"
)

// Effect is a Kind with its parameters.
type Effect struct {
	Kind Kind
	// Delay is how late Slow passes a request on.
	Delay time.Duration
	// Code is the HTTP status of Status. 429 has the form sent by priority and
	// fairness, 410 that of "too old resource version".
	Code int
	// RetryAfter is sent with Status, in whole seconds; 0 is not sent.
	RetryAfter time.Duration
}

// OfKind returns an effect without parameters.
func OfKind(kind Kind) Effect { return Effect{Kind: kind} }

// SlowBy returns the effect of a late answer.
func SlowBy(delay time.Duration) Effect { return Effect{Kind: Slow, Delay: delay} }

// WithStatus returns the effect of an HTTP error.
func WithStatus(code int, retryAfter time.Duration) Effect {
	return Effect{Kind: Status, Code: code, RetryAfter: retryAfter}
}

// Rule sets what happens to which requests.
type Rule struct {
	// Verbs are RBAC verbs, such as "list" and "watch"; empty means all.
	Verbs []string
	// Resources include the subresource: "pods", "pods/eviction"; none: all.
	Resources []string
	// Namespaces are the objects' namespaces; none means all. Except are the names
	// of objects to which the rule does not apply.
	Namespaces, Except []string
	// Percent of the matching requests, drawn by lot; 0: all of them.
	Percent int
	// Times is the number of requests to which the rule applies; 0 means all.
	Times  int
	Effect Effect
}

// matches reports whether the rule is about a request.
func (r *Rule) matches(info *request.RequestInfo) bool {
	resource := info.Resource
	if info.Subresource != "" {
		resource += "/" + info.Subresource
	}
	return (len(r.Verbs) == 0 || slices.Contains(r.Verbs, info.Verb)) &&
		(len(r.Resources) == 0 || slices.Contains(r.Resources, resource)) &&
		(len(r.Namespaces) == 0 || slices.Contains(r.Namespaces, info.Namespace)) && !slices.Contains(r.Except, info.Name)
}

// rules are the current rules; the first match decides.
type rules struct {
	all []Rule
	// roll returns a number from 0 to 99.
	roll func() int
}

// effect decides about a request and counts it against the rule's Times.
func (r *rules) effect(info *request.RequestInfo) Effect {
	for i := range r.all {
		rule := &r.all[i]
		if !rule.matches(info) || rule.Times < 0 {
			continue
		}
		if rule.Percent > 0 && r.roll() >= rule.Percent {
			continue
		}
		if rule.Times == 1 {
			rule.Times = -1 // it has applied for the last time
		} else if rule.Times > 1 {
			rule.Times--
		}
		return rule.Effect
	}
	return Effect{}
}
