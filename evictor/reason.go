package evictor

import (
	"errors"

	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"

	"github.com/evenkeel/evenkeel/reasons"
)

// reasonOf returns the Reason in an error, or EvictionFailed if the error has none; empty
// if the error is nil.
func reasonOf(err error) reasons.Reason {
	if err == nil {
		return ""
	}
	if refusal, ok := errors.AsType[*reasons.Refusal](err); ok {
		return refusal.Reason
	}
	if limits(err) {
		return reasons.EvictionLimit
	}
	return reasons.EvictionFailed
}

// limits reports whether an error is one of the framework's limits.
func limits(err error) bool {
	_, total := errors.AsType[*evictions.EvictionTotalLimitError](err)
	_, node := errors.AsType[*evictions.EvictionNodeLimitError](err)
	_, namespace := errors.AsType[*evictions.EvictionNamespaceLimitError](err)
	return total || node || namespace
}
