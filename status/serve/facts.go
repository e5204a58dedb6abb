package serve

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	build "github.com/prometheus/common/version"

	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/status/observed"
	"github.com/evenkeel/evenkeel/status/page"
)

// The roles of a process besides observing.
const (
	answersOnly = "answers kube-scheduler and evicts nothing"
	follows     = "follows the leader"
	leads       = "leads"
)

// unplanned explains, by role, why a process has run no cycle.
var unplanned = map[string]string{
	answersOnly: "this process plans nothing: the page of the one that evicts shows what happens",
	follows:     "this replica plans nothing: the leader's page shows what happens",
	leads:       "the first cycle has not run yet",
}

// facts gathers the content of the page. There are no nodes before the first reading.
func (p *Reports) facts(r *http.Request) *page.Facts {
	f := &page.Facts{Now: p.Clock.Now(), Stops: page.Stops{Left: -1}}
	if p.Explainer != nil {
		if known, err := p.Explainer.Latest(); err == nil {
			f.Facts = *known
		}
	}
	latest := p.Observer.Latest()
	if latest != nil {
		f.Ready, f.Fresh, f.Sources, f.Stops.Usage = latest.Ready, latest.Fresh, pageSources(latest), latest.Closed()
	}
	if hold := p.Observer.Ledger().Hold(); hold.Reason != "" && !hold.Partial && f.Now.Before(hold.Until) {
		f.Stops.Hold, f.Stops.HoldUntil = hold.Reason, hold.Until
	}
	if p.Authority != nil {
		if err := p.Authority.Unreadable(); err != nil {
			f.Stops.Ledger = err.Error()
		}
	}
	if p.Gauges != nil {
		if e := p.Gauges.evicting(); e != nil {
			f.Stops.Left, f.Stops.Safeguard = e.Standing()
			f.Cycle, f.OtherProfiles = p.Explainer.Cycle(), p.Explainer.OtherProfiles()
		}
	}
	f.Process = p.process(r, latest)
	f.Moving = p.Explainer.Moves()
	f.NoPlan = cmp.Or(p.Explainer.NothingByUsage(), unplanned[f.Process.Role])
	return f
}

// view returns the view of the newest observation; nil before the first one.
func (p *Reports) view() *usage.View {
	if latest := p.Observer.Latest(); latest != nil {
		return latest.View
	}
	return nil
}

// pageSources returns the sources with the ages of their samples.
func pageSources(o *observer.Observation) []page.Source {
	reports := observed.Sources(o)
	sources := make([]page.Source, len(reports))
	at := map[string]*page.Source{}
	for i := range reports {
		r, s := &reports[i], &sources[i]
		*s = page.Source{Source: r.Source, Nodes: r.Chosen, NewestSeconds: -1}
		for _, problem := range r.Problems {
			s.Rejected += problem.Count
		}
		at[r.Name] = s
	}
	for i := range o.View.Nodes {
		s := at[o.View.Nodes[i].Source]
		if s == nil || !o.View.Nodes[i].Known() {
			continue
		}
		age := int(o.View.Nodes[i].Age / time.Second)
		if s.NewestSeconds < 0 || age < s.NewestSeconds {
			s.NewestSeconds = age
		}
		s.OldestSeconds = max(s.OldestSeconds, age)
	}
	for i := range sources {
		sources[i].NewestSeconds = max(sources[i].NewestSeconds, 0)
	}
	return sources
}

// process describes this process and its replicas.
func (p *Reports) process(r *http.Request, latest *observer.Observation) page.Process {
	asked, policy := p.asked(r), p.Policies.Status()
	is := page.Process{
		Process: asked.Process, Version: build.Version, Role: answersOnly,
		PolicyGeneration: policy.Generation, PolicyProblem: policy.Problem, LedgerGeneration: p.generation(), Replicas: []page.Replica{},
	}
	if p.Lease == nil {
		return is
	}
	is.Identity, is.Leader = p.Lease.Identity(), p.Lease.Holder()
	switch {
	case p.Gauges == nil || p.Gauges.evictor.Load() == nil:
	case p.Gauges.evicting() == nil:
		is.Role = follows
	default:
		is.Role, is.Leader = leads, cmp.Or(is.Leader, is.Identity)
	}
	if latest != nil {
		name, _, _ := strings.Cut(is.Identity, "_")
		is.Replicas = page.Replicas(latest.View, p.Namespace, name)
	}
	return is
}
