package evictor

import (
	"errors"

	"github.com/evenkeel/evenkeel/reasons"
)

// reasonOf returns the Reason in an error, EvictionFailed if it has none; empty
// without an error.
func reasonOf(err error) reasons.Reason {
	if err == nil {
		return ""
	}
	if refusal, ok := errors.AsType[*reasons.Refusal](err); ok {
		return refusal.Reason
	}
	return reasons.EvictionFailed
}
