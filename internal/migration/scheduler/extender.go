package scheduler

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/evenkeel/evenkeel/policy"
)

// convert returns an extender as it is written today; at is its place, raw what
// stands there.
func (e *legacy) convert(raw map[string]any, document *policy.Conversion, at string) map[string]any {
	out := said(raw)
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

// said leaves out of a mapping what says nothing.
func said(raw map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range raw {
		switch v := value.(type) {
		case map[string]any:
			out[name] = said(v)
		case []any:
			if list := saidOfEach(v); len(list) > 0 {
				out[name] = list
			}
		case nil, bool, string, json.Number:
			if v != nil && v != false && v != "" && v != json.Number("0") {
				out[name] = v
			}
		}
	}
	return out
}

func saidOfEach(raw []any) []any {
	var list []any
	for _, element := range raw {
		object, _ := element.(map[string]any)
		list = append(list, said(object))
	}
	return list
}

// note says what is written otherwise, and what Evenkeel's own entry has.
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
		document.Add(at+".weight", "kept; Evenkeel's own entry has 15, because one point is worth ten times the weight and the default scores sum up to 1,400")
	}
	if !e.NodeCacheCapable {
		document.Add(at, "without nodeCacheCapable whole nodes are sent, and kube-scheduler then scores them as if they were empty; Evenkeel needs names alone")
	}
}
