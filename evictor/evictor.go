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
)

// Reason is why an eviction was not made. One set serves log, event, metric and JSON.
type Reason string

// The reasons for leaving a move undone.
const (
	// Paused: the kill switch is set.
	Paused Reason = "Paused"
	// PauseUnreadable: the kill switch could not be read, so it counts as set.
	PauseUnreadable Reason = "PauseUnreadable"
	// PodChanged: the pod is gone, is terminating or was replaced under its name.
	PodChanged Reason = "PodChanged"
	// MoveCancelled: the move was cancelled or expired after it was planned.
	MoveCancelled Reason = "MoveCancelled"
	// SourceNotHot: the source is known to be under its evict line by now.
	SourceNotHot Reason = "SourceNoLongerHot"
	// SourceUnknown: the source's usage is not known any more.
	SourceUnknown Reason = "SourceUsageUnknown"
	// LandingGone: the destination would not stay under its ceiling any more, or takes no pods.
	LandingGone Reason = "LandingGone"
	// LastReadyReplica: no other pod of an owner that wants several is ready.
	LastReadyReplica Reason = "LastReadyReplica"
	// UsageGate: usage data got too poor to evict on.
	UsageGate Reason = "UsageDataInsufficient"
	// SteeringAbsent: a replacement was bound without the extender having been asked.
	SteeringAbsent Reason = "SteeringAbsent"
	// ProbeNotLanded: the first replacement was not bound in time.
	ProbeNotLanded Reason = "ProbeNotLanded"
	// Filtered: the framework's pre-eviction filters refuse the pod.
	Filtered Reason = "PreEvictionFilter"
	// SeveralBudgets: more than one PodDisruptionBudget selects the pod; the API server refuses to evict it.
	SeveralBudgets Reason = "SeveralPodDisruptionBudgets"
	// LimitReached: a limit of the DeschedulerPolicy is spent.
	LimitReached Reason = "EvictionLimit"
	// DeadlineReached: the cycle ended before a PodDisruptionBudget or the owner's pods in flight allowed the move.
	DeadlineReached Reason = "CycleDeadline"
	// NotLeader: another process evicts by now, or may.
	NotLeader Reason = "NotLeader"
	// LedgerUnwritable: what was to be evicted could not be stored.
	LedgerUnwritable Reason = "LedgerUnwritable"
	// SurgeFailed: the pod was to go once another one is ready beside it, and none came to be, or the Deployment may not be
	// scaled.
	SurgeFailed Reason = "SurgeFailed"
	// Stopping: the process was told to end.
	Stopping Reason = "Stopping"
	// CallFailed: the API server refused or could not be reached.
	CallFailed Reason = "EvictionFailed"
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
	Reason Reason
	// Err is the API server's answer behind CallFailed.
	Err error
}

// Refusal is the error by which the Gate declines an eviction without calling.
type Refusal struct {
	Reason Reason
	Detail string
}

func (r *Refusal) Error() string {
	if r.Detail == "" {
		return string(r.Reason)
	}
	return fmt.Sprintf("%s: %s", r.Reason, r.Detail)
}

// reasonOf returns the Reason behind an error, CallFailed when there is none.
func reasonOf(err error) Reason {
	if refusal, ok := errors.AsType[*Refusal](err); ok {
		return refusal.Reason
	}
	return CallFailed
}
