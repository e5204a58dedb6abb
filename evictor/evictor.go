// Package evictor carries moves out: through the eviction API, one at a time, each checked again just before its call.
//
// A Gate stands between the descheduler framework and the API server as a clientset that overrides nothing but the eviction
// call, so that upstream plugins' evictions pass the same kill switch, recheck, ledger record and dry run as Evenkeel's
// own. An Executor takes a plan's moves through the framework to the Gate, paced by what PodDisruptionBudgets and owners
// allow, and stops when kube-scheduler turns out not to ask the extender. The only pod of a Deployment that asks for it goes
// once another one is ready: the Deployment is scaled up for that time, by the Scaler. What to move is decided elsewhere.
package evictor

import (
	"errors"
	"fmt"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// Move is a planned move with what to tell about it.
type Move struct {
	ledger.Intent
	// Surge names the Deployment that is scaled up before its only pod is evicted; empty for a pod that is just evicted.
	Surge string
	// Message says in words, with the numbers, why the pod is evicted.
	Message string
}

// Key returns "namespace/pod".
func (m *Move) Key() string { return m.Namespace + "/" + m.Pod }

// Outcome is what became of a Move: evicted when Reason is empty.
type Outcome struct {
	Move   Move
	Reason reasons.Reason
	// Err is the API server's answer behind CallFailed.
	Err error
}

// Refusal is the error by which the Gate declines an eviction without calling.
type Refusal struct {
	Reason reasons.Reason
	Detail string
}

func (r *Refusal) Error() string {
	if r.Detail == "" {
		return string(r.Reason)
	}
	return fmt.Sprintf("%s: %s", r.Reason, r.Detail)
}

// reasonOf returns the Reason behind an error, CallFailed when there is none.
func reasonOf(err error) reasons.Reason {
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return refusal.Reason
	}
	return reasons.EvictionFailed
}
