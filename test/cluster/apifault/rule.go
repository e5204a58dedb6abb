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
	// Lost lets the API server execute the request but resets its response.
	Lost Kind = "lost"
)

// Effect is a Kind with its parameters.
type Effect struct {
	Kind Kind
	// Delay is how late Slow passes a request on.
	Delay time.Duration
	// Code is the HTTP status of Status. A response with 429 looks as if it were sent by API
	// priority and fairness, one with 410 like "too old resource version".
	Code int
	// RetryAfter is sent with Status, in whole seconds; 0 means that it is not sent.
	RetryAfter time.Duration
}

// OfKind returns an effect without parameters.
func OfKind(kind Kind) Effect { return Effect{Kind: kind} }

// SlowBy returns an effect that passes requests on late.
func SlowBy(delay time.Duration) Effect { return Effect{Kind: Slow, Delay: delay} }

// WithStatus returns an effect that answers with an HTTP error.
func WithStatus(code int, retryAfter time.Duration) Effect {
	return Effect{Kind: Status, Code: code, RetryAfter: retryAfter}
}

// Rule defines what happens to which requests.
type Rule struct {
	// Verbs are RBAC verbs, such as "list" and "watch"; empty means all.
	Verbs []string
	// Resources may include subresources, such as "pods" or "pods/eviction"; empty means
	// all.
	Resources []string
	// Namespaces are the objects' namespaces; empty means all. Except holds the names of
	// objects to which the rule does not apply.
	Namespaces, Except []string
	// Percent is the percentage of matching requests that are affected, chosen at random; 0
	// means all of them.
	Percent int
	// Times is the maximum number of affected requests; 0 means unlimited.
	Times  int
	Effect Effect
}

// matches reports whether the rule applies to a request.
func (r *Rule) matches(info *request.RequestInfo) bool {
	resource := info.Resource
	if info.Subresource != "" {
		resource += "/" + info.Subresource
	}
	return (len(r.Verbs) == 0 || slices.Contains(r.Verbs, info.Verb)) &&
		(len(r.Resources) == 0 || slices.Contains(r.Resources, resource)) &&
		(len(r.Namespaces) == 0 || slices.Contains(r.Namespaces, info.Namespace)) && !slices.Contains(r.Except, info.Name)
}

// rules holds the current rules. The first one that matches decides.
type rules struct {
	all []Rule
	// roll returns a random number from 0 to 99.
	roll func() int
}

// effect returns the effect on a request and counts it against the rule's Times.
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
			rule.Times = -1 // it has been applied for the last time
		} else if rule.Times > 1 {
			rule.Times--
		}
		return rule.Effect
	}
	return Effect{}
}
