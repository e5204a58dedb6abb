package scheduler

import (
	"strconv"
	"time"

	"github.com/evenkeel/evenkeel/policy"
)

// convert returns an extender as it is written today; at is its place.
func (e *legacy) convert(document *policy.Conversion, at string) map[string]any {
	out := set{"urlPrefix": e.URLPrefix}
	out.text("filterVerb", e.FilterVerb)
	out.text("preemptVerb", e.PreemptVerb)
	out.text("prioritizeVerb", e.PrioritizeVerb)
	out.text("bindVerb", e.BindVerb)
	out.number("weight", whole(e.Weight))
	out.flag("enableHTTPS", e.EnableHTTPS)
	out.flag("nodeCacheCapable", e.NodeCacheCapable)
	out.flag("ignorable", e.Ignorable)
	if e.HTTPTimeout > 0 {
		out["httpTimeout"] = time.Duration(e.HTTPTimeout).String()
	}
	if e.TLSConfig != nil {
		out["tlsConfig"] = e.TLSConfig.convert()
	}
	if len(e.ManagedResources) > 0 {
		out["managedResources"] = e.managed()
	}
	e.note(document, at)
	return out
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

func (t *tls) convert() map[string]any {
	out := set{}
	out.flag("insecure", t.Insecure)
	out.text("serverName", t.ServerName)
	out.text("certFile", t.CertFile)
	out.text("keyFile", t.KeyFile)
	out.text("caFile", t.CAFile)
	out.text("certData", t.CertData)
	out.text("keyData", t.KeyData)
	out.text("caData", t.CAData)
	return out
}

func (e *legacy) managed() []any {
	var list []any
	for _, r := range e.ManagedResources {
		out := set{"name": r.Name}
		out.flag("ignoredByScheduler", r.IgnoredByScheduler)
		list = append(list, map[string]any(out))
	}
	return list
}
