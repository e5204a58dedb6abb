package serve

import (
	"cmp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/evictor/history"
	"github.com/evenkeel/evenkeel/evictor/leadership"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
)

// Gauges are metrics that are computed only when they are scraped.
type Gauges struct {
	Observer  *observer.Observer
	Authority *leadership.Authority
	Now       func() time.Time
	// Nodes is the maximum number of nodes for which there are series per node; 0
	// disables these series.
	Nodes int
	// Owners is the maximum number of owners for which evictions are counted; 0 disables
	// these series.
	Owners int

	evictor atomic.Pointer[evictor.Evictor]
	// usageless reports whether cycles need no usage.
	usageless atomic.Bool
}

var _ prometheus.Collector = (*Gauges)(nil)

// Follow switches to another policy's Evictor. readsUsage reports whether its cycles need
// usage.
func (g *Gauges) Follow(e *evictor.Evictor, readsUsage bool) {
	g.evictor.Store(e)
	g.usageless.Store(!readsUsage)
}

var (
	onHold = prometheus.NewDesc("evenkeel_evictions_on_hold",
		"1 while nothing is evicted for this reason, as far as this process knows. Only the leader reports the safeguards' reasons, as of the last cycle.",
		[]string{"reason"}, nil)
	inFlight = prometheus.NewDesc("evenkeel_moves_in_flight",
		"Moves whose replacement has not landed yet, including planned moves.", nil, nil)
	budgetLeft = prometheus.NewDesc("evenkeel_eviction_budget_remaining",
		"Evictions that the policy's hourly budget still allows now, reported by the leader. Missing without such a budget.", nil, nil)
	nodeUsage = prometheus.NewDesc("evenkeel_node_usage_ratio",
		"Real usage of a node over five minutes, as a ratio of its allocatable. Missing if unknown, and in clusters with more than --metrics-node-limit nodes.",
		[]string{"node", "resource"}, nil)
	nodeState = prometheus.NewDesc("evenkeel_node_state",
		"1 for the state that a node is in: hot, warm, cool or unknown. Missing in clusters with more than --metrics-node-limit nodes.",
		[]string{"node", "state"}, nil)
	ownerEvictions = prometheus.NewDesc("evenkeel_owner_evictions",
		"Evictions in the ledger by owner and outcome, for the --metrics-owner-limit owners with the most, reported by the leader. "+
			"It falls as the ledger forgets old ones.",
		[]string{"namespace", "owner_kind", "owner", "outcome"}, nil)
)

// Describe implements prometheus.Collector.
func (g *Gauges) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{onHold, inFlight, budgetLeft, nodeUsage, nodeState, ownerEvictions} {
		out <- desc
	}
}

// Collect implements prometheus.Collector.
func (g *Gauges) Collect(out chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	latest, left := g.Observer.Latest(), -1
	holding := g.holding(latest)
	if e := g.evicting(); e != nil {
		var why reasons.Reason
		left, why = e.Standing()
		holding[why] = true
		g.collectOwners(gauge)
	}
	for _, reason := range holds() {
		value := 0.0
		if holding[reason] {
			value = 1
		}
		gauge(onHold, value, reason.Label())
	}
	gauge(inFlight, float64(len(g.Observer.Ledger().InFlight())))
	if left >= 0 {
		gauge(budgetLeft, float64(left))
	}
	if latest == nil || len(latest.View.Nodes) > g.Nodes {
		return
	}
	for i := range latest.View.Nodes {
		node, read := &latest.View.Snapshot.Nodes[i].Node, &latest.View.Nodes[i]
		gauge(nodeState, 1, node.Name, string(cmp.Or(latest.States[node.Name].State, thresholds.Unknown)))
		if !read.Known() {
			continue
		}
		percents := read.Current[usage.AtAvg5m].PercentOf(node.Allocatable)
		for _, r := range cluster.Resources() {
			if read.Reports(r) {
				gauge(nodeUsage, percents[r]/100, node.Name, r.String())
			}
		}
	}
}

// collectOwners reports the evictions by owner.
func (g *Gauges) collectOwners(gauge func(desc *prometheus.Desc, value float64, labels ...string)) {
	for _, of := range g.owners() {
		kind, name, _ := strings.Cut(of.Owner, "/")
		gauge(ownerEvictions, float64(of.Helped), of.Namespace, kind, name, "helped")
		gauge(ownerEvictions, float64(of.NotHelped), of.Namespace, kind, name, "not_helped")
		gauge(ownerEvictions, float64(of.NotJudged), of.Namespace, kind, name, "not_judged")
	}
}

// longestName is the length, in bytes, to which names of owners are cut. Anyone who
// creates pods chooses these names, and the API server does not check them.
const longestName = 253

// owners counts the evictions of the owners that have the most of them.
func (g *Gauges) owners() []history.OwnerTotals {
	if g.Owners == 0 {
		return nil
	}
	var entries []history.Entry
	inFlight, ended := g.Observer.Ledger().Moves()
	for _, moves := range [...][]ledger.Move{inFlight, ended} {
		for i := range moves {
			e, made := history.OfMove(&moves[i])
			if !made || e.Denied != "" {
				continue
			}
			// Equal labels must not appear twice, so names are cut before they are counted.
			for _, name := range []*string{&e.Owner, &e.Workload, &e.Pod} {
				*name = strings.ToValidUTF8((*name)[:min(len(*name), longestName)], "")
			}
			entries = append(entries, e)
		}
	}
	owners := history.ByOwner(entries)
	return owners[:min(len(owners), g.Owners)]
}

// evicting returns the Evictor if this process may evict, otherwise nil.
func (g *Gauges) evicting() *evictor.Evictor {
	if e := g.evictor.Load(); e != nil && g.Authority.Leads() == nil {
		return e
	}
	return nil
}

// holds returns all reasons for which no pod at all may be evicted.
func holds() []reasons.Reason {
	return append(observer.Blockers(), reasons.Paused, reasons.PauseUnreadable, reasons.LedgerUnreadable, reasons.SteeringAbsent,
		reasons.ProbeNotLanded, reasons.OutsideWindow, reasons.NodesNotReady, reasons.APIErrors, reasons.EvictionsRefused,
		reasons.ReplacementsUnready, reasons.ReplacementsPending, reasons.NodesDraining, reasons.PodsUnschedulable, reasons.MovesPerHour)
}

// holding returns the reasons that apply now, except the safeguards' reasons.
func (g *Gauges) holding(latest *observer.Observation) map[reasons.Reason]bool {
	now := map[reasons.Reason]bool{g.Authority.Pause().Reason: true}
	if latest != nil && !g.usageless.Load() {
		now[latest.Blocked] = true
	}
	if g.Authority.Unreadable() != nil {
		now[reasons.LedgerUnreadable] = true
	}
	now[evictor.Holds(g.Observer.Ledger().Hold(), g.Now(), 0)] = true // only the next cycle checks whether kube-scheduler has asked since
	return now
}
