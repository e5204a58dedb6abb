package scheduler

import (
	"strconv"
	"time"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/shape"
)

// convert returns an extender in the current format, without empty fields. at is its
// path.
func (e *legacy) convert(document *policy.Conversion, at string) map[string]any {
	var out map[string]any
	_ = shape.Fill(&out, e) // cannot fail, because the same fields were read
	if e.EnableHTTPS {
		out["enableHTTPS"] = true
	}
	delete(out, "enableHttps")
	if e.HTTPTimeout > 0 {
		out["httpTimeout"] = time.Duration(e.HTTPTimeout).String()
	}
	e.note(document, at)
	return out
}

// note adds notes about changes, and about the values in Evenkeel's entry.
func (e *legacy) note(document *policy.Conversion, at string) {
	if e.EnableHTTPS {
		document.Add(at+".enableHTTPS", "was enableHttps")
	}
	if e.HTTPTimeout > 0 {
		document.Add(at+".httpTimeout", "was "+strconv.FormatInt(e.HTTPTimeout, 10)+" nanoseconds; Evenkeel's own entry has 200ms")
	} else {
		document.Add(at, "without httpTimeout kube-scheduler waits up to 5s for each answer; Evenkeel's own entry has 200ms")
	}
	if e.PrioritizeVerb != "" {
		document.Add(at+".weight", "kept; Evenkeel's own entry has 15, because one point is worth ten times the weight and the default scores add up to 1,400")
	}
	if !e.NodeCacheCapable {
		document.Add(at, "without nodeCacheCapable, kube-scheduler sends whole nodes and then scores them as if they were empty; Evenkeel needs only names")
	}
}
