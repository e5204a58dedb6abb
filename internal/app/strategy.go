package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"sigs.k8s.io/descheduler/pkg/api"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/defaultevictor"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/observer"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies/realusage"
	"github.com/evenkeel/evenkeel/strategies/realusage/plan"
	"github.com/evenkeel/evenkeel/thresholds"
	"github.com/evenkeel/evenkeel/usage"
)

// pluginDeps joins RealUsageLowNodeUtilization to the observer, the filters and the executor. execute, when given, is told
// the plan in the executor's place.
func (a *App) pluginDeps(execute func(context.Context, realusage.Made)) func() realusage.Deps {
	return func() realusage.Deps {
		deps := realusage.Deps{
			Observe:    a.observed,
			Session:    a.session,
			Refuse:     a.refuse,
			Disruption: a.owners.disruption,
			Surges:     a.owners.surges,
			Moving:     a.observer.Ledger().Moving,
			Filtered:   &evictor.Refusal{Reason: reasons.PreEvictionFilter},
			Options: realusage.Options{
				MaxMoves:       a.load.Eviction.MaxMovesPerCycle,
				MinGainPercent: a.load.Eviction.MinGainPercent,
				EvictJobs:      a.load.Eviction.EvictJobs,
				SchedulerNames: a.load.Eviction.SchedulerNames,
			},
			Execute: a.execute,
		}
		if execute != nil {
			deps.Execute = func(ctx context.Context, made realusage.Made, _ func(context.Context, *v1.Pod) error) {
				execute(ctx, made)
			}
		}
		return deps
	}
}

func hotRule(load *policy.LoadPolicy) thresholds.HotRule {
	return thresholds.HotRule{ConsecutiveSamples: load.Hot.ConsecutiveSamples, SampleInterval: load.Usage.SampleInterval.Duration}
}

// observed is the newest observation as the strategy plans on it.
func (a *App) observed() realusage.Observed {
	latest := a.observer.Latest()
	if latest == nil {
		return realusage.Observed{Closed: string(reasons.NoUsageData)}
	}
	observed := realusage.Observed{
		View: latest.View, Board: latest.Board, States: latest.States, Lines: latest.Lines, Closed: latest.Closed(),
		MaxMoves: a.restrained().Left(),
	}
	if observed.Closed == "" {
		observed.Closed = a.closed()
	}
	return observed
}

// session brings the filters' snapshot to the watches' state and opens a what-if on it.
func (a *App) session(context.Context) (*placement.Session, error) {
	nodes, err := a.informers.Core().V1().Nodes().Lister().List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	pods, err := a.informers.Core().V1().Pods().Lister().List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	if err := a.filters.Sync(nodes, pods); err != nil {
		return nil, fmt.Errorf("bringing the filters up to date: %w", err)
	}
	return a.filters.Begin(), nil
}

// execute hands a plan's moves to the executor and tells what became of them.
func (a *App) execute(ctx context.Context, made realusage.Made, evict func(context.Context, *v1.Pod) error) {
	a.judged(ctx, &a.desk, &made)
	moves := make([]evictor.Move, 0, len(made.Plan.Moves))
	for i := range made.Plan.Moves {
		moves = append(moves, a.move(&made.Plan.Moves[i]))
	}
	logger := klog.FromContext(ctx)
	done := 0
	for _, outcome := range a.executor.Run(ctx, moves, evict) {
		if outcome.Reason == "" {
			done++
			continue
		}
		logger.Info("Move was not made", "pod", klog.KRef(outcome.Move.Namespace, outcome.Move.Pod), "node", outcome.Move.From,
			"destination", outcome.Move.To, "reason", outcome.Reason, "error", outcome.Err)
	}
	logger.Info("Plan carried out", "planned", len(moves), "evicted", done, "dryRun", a.options.DryRun)
}

func (a *App) move(m *plan.Move) evictor.Move {
	grace, surge := evictor.Grace(&v1.Pod{}, nil), ""
	if pod := a.pod(m.Namespace, m.Name); pod != nil {
		grace, surge = evictor.Grace(pod, nil), a.owners.surge(pod)
	}
	if g := a.profiles.GracePeriodSeconds; g != nil {
		grace = evictor.GraceSeconds(*g)
	}
	return evictor.Move{
		Intent: ledger.Intent{
			Pool: a.pool(m.From), FromUsed: a.used(m.From),
			Namespace: m.Namespace, Pod: m.Name, PodUID: m.UID, Owner: m.Owner, TemplateHash: m.TemplateHash,
			Usage: m.Usage, From: m.From, To: m.To, TTL: grace + a.load.Eviction.MoveTTL.Duration,
		},
		Surge:   surge,
		Message: a.explainMove(m),
	}
}

func (a *App) explainMove(m *plan.Move) string {
	latest := a.observer.Latest()
	if latest == nil {
		return explainMove(m, nil)
	}
	return explainMove(m, evidence(latest.View, latest.Lines, m.From))
}

// evidence is everything that makes a node hot.
func evidence(view *usage.View, resolved *thresholds.Resolved, node string) []thresholds.Evidence {
	i := view.Snapshot.Index(node)
	if i < 0 {
		return nil
	}
	return resolved.Evidence(i)
}

// explainMove says in one sentence, with the numbers, why a pod is moved: it goes into the pod's Event.
func explainMove(m *plan.Move, evidence []thresholds.Evidence) string {
	said := make([]string, len(evidence))
	for i := range evidence {
		said[i] = evidence[i].String()
	}
	hottest := cluster.CPU
	if m.FromBefore[cluster.Memory]-m.FromAfter[cluster.Memory] > m.FromBefore[cluster.CPU]-m.FromAfter[cluster.CPU] {
		hottest = cluster.Memory
	}
	return fmt.Sprintf("Node %s is hot by real usage: %s; this pod uses %s. Planned landing: node %s, at %.1f %% of its %s before and %.1f %% with it.",
		m.From, strings.Join(said, ", "), formatAmounts(m.Usage), m.To, m.ToBefore[hottest], hottest, m.ToAfter[hottest])
}

// recheck says why a planned move should not be made any more on what is known just before its call.
func (a *App) recheck(move *evictor.Move) reasons.Reason {
	latest := a.observer.Latest()
	if latest == nil || latest.Blocked != "" {
		return reasons.UsageDataInsufficient
	}
	snapshot := latest.View.Snapshot
	from, to := snapshot.Index(move.From), snapshot.Index(move.To)
	if to < 0 {
		return reasons.LandingGone
	}
	if from < 0 || !latest.View.Nodes[from].Known() {
		return reasons.SourceUsageUnknown
	}
	if !a.stillHot(latest, from) {
		return reasons.SourceNoLongerHot
	}
	landing := &snapshot.Nodes[to].Node
	_, known := latest.Board.Predicted(int32(to)) //nolint:gosec // a cluster has fewer than 2^31 nodes
	if !known || !landing.Ready || !landing.Schedulable || landing.Leaving != "" {
		return reasons.LandingGone
	}
	arriving := move.Usage
	if a.observer.Ledger().Moving(move.PodUID) {
		arriving = cluster.Amounts{} // it is reserved, and so part of what is predicted
	}
	if !latest.Board.Lands(int32(to), arriving) { //nolint:gosec // as above
		return reasons.LandingGone
	}
	reason, _ := a.restrained().Refuse(&move.Intent)
	return reason
}

// used is what a node is measured at; zero where that is not known.
func (a *App) used(node string) cluster.Amounts {
	latest := a.observer.Latest()
	if latest == nil {
		return cluster.Amounts{}
	}
	i := latest.View.Snapshot.Index(node)
	if i < 0 || !latest.View.Nodes[i].Known() {
		return cluster.Amounts{}
	}
	return current(latest.View, i)
}

// current is what a node is measured at, without what has left since.
func current(view *usage.View, node int) cluster.Amounts {
	return view.Nodes[node].Current[usage.AtAvg5m]
}

// stillHot says whether a node is above its evict line without the pods that were evicted or went since it was observed.
func (a *App) stillHot(latest *observer.Observation, node int) bool {
	info, read := latest.View.Snapshot.Nodes[node], &latest.View.Nodes[node]
	var left cluster.Amounts
	for j, pod := range info.Pods {
		if pod.Terminating || !a.gate.Evicted(pod.UID) && a.stays(pod) {
			continue
		}
		left = left.Plus(read.Pods[j].Used)
	}
	for _, need := range latest.Lines.Need(node, left) {
		if need > 0 {
			return true
		}
	}
	return false
}

// stays says whether the watch knows of no end of a pod.
func (a *App) stays(pod *cluster.Pod) bool {
	object := a.pod(pod.Namespace, pod.Name)
	return object != nil && string(object.UID) == pod.UID && object.DeletionTimestamp == nil
}

// replacementReady says whether the pod that took a move up is ready; one that is gone holds nothing up.
func (a *App) replacementReady(move *ledger.Move) bool {
	pod := a.replacement(move)
	return pod == nil || podutil.IsPodReady(pod)
}

// onlyRealUsage leaves RealUsageLowNodeUtilization alone enabled, in the first profile that has it or, when none does, in
// one of its own.
func onlyRealUsage(p *api.DeschedulerPolicy, client kubernetes.Interface) error {
	p.MetricsProviders, p.MetricsCollector = nil, nil // it reads the observer
	for i := range p.Profiles {
		plugins := &p.Profiles[i].Plugins
		if slices.Contains(plugins.Balance.Enabled, realusage.Name) {
			plugins.Deschedule.Enabled = nil
			plugins.Balance.Enabled = []string{realusage.Name}
			p.Profiles = p.Profiles[i : i+1]
			return nil
		}
	}
	if client == nil {
		return errors.New("leaving RealUsageLowNodeUtilization alone: no client")
	}
	p.Profiles = []api.DeschedulerProfile{{
		Name: "plan",
		PluginConfigs: []api.PluginConfig{
			{Name: defaultevictor.PluginName, Args: &defaultevictor.DefaultEvictorArgs{}},
			{Name: realusage.Name, Args: &policy.RealUsageLowNodeUtilizationArgs{}},
		},
		Plugins: api.Plugins{
			Balance:           api.PluginSet{Enabled: []string{realusage.Name}},
			Filter:            api.PluginSet{Enabled: []string{defaultevictor.PluginName}},
			PreEvictionFilter: api.PluginSet{Enabled: []string{defaultevictor.PluginName}},
		},
	}}
	return nil
}
