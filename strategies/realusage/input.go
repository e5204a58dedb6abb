package realusage

import (
	"context"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
	"github.com/evenkeel/evenkeel/strategies/realusage/plan"
)

// gathering collects the input of a plan.
type gathering struct{ *plugin.Round }

func (a *Args) input(ctx context.Context, round *plugin.Round) (*plan.Input, error) {
	options := &round.Options
	in := &plan.Input{
		MaxMoves: round.MaxMoves(), MinGainPercent: options.MinGainPercent,
		MinHotMinutesSaved: options.MinHotTimeSaved.Minutes(), Recurs: options.Recurs, At: round.Observed.View.At,
		Unforeseen: options.Unforeseen, Beside: round.Observed.Beside,
	}
	if limits := a.EvictionLimits; limits != nil && limits.Node != nil {
		in.MaxPerNode = int(*limits.Node)
	}
	g := &gathering{round}
	var err error
	if in.Nodes, err = g.nodes(ctx); err != nil {
		return nil, err
	}
	in.Residents = g.residents(in.Nodes)
	return in, nil
}

// nodes converts the nodes for the planner, on all processors, because the checks of each
// pod take a third of the time of a plan.
func (g *gathering) nodes(ctx context.Context) ([]plan.Node, error) {
	nodes, parts := make([]plan.Node, len(g.Nodes)), min(runtime.GOMAXPROCS(0), 1+len(g.Nodes)/nodesEach)
	var group errgroup.Group
	for first := range parts {
		group.Go(func() (err error) {
			for k := first; k < len(nodes) && err == nil; k += parts {
				nodes[k], err = g.node(ctx, g.Nodes[k])
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err //nolint:wrapcheck // node says which one
	}
	return nodes, nil
}

// nodesEach is the number of nodes that justifies using another processor.
const nodesEach = 500

// residents finds the nodes of the candidates and their siblings, including expected
// replacements.
func (g *gathering) residents(nodes []plan.Node) plan.Residents {
	if len(g.Movable()) == 0 {
		return nil // usually nothing is hot
	}
	place, i := owners(nodes), 0
	lists := make([][]cluster.NodeIndex, len(place))
	for _, info := range g.Observed.View.Snapshot.Nodes {
		if i == len(nodes) || info.Node.Name != nodes[i].Name {
			continue
		}
		for _, pod := range info.Pods {
			if k, ok := place[strategies.OwnerOf(pod)]; ok && !pod.Terminating {
				lists[k] = append(lists[k], cluster.NodeIndex(i))
			}
		}
		i++
	}
	for _, a := range g.Observed.Coming {
		k, ok := place[strategies.Owner{Namespace: a.Namespace, UID: a.OwnerUID}]
		i, known := slices.BinarySearchFunc(nodes, a.Node, func(n plan.Node, name string) int { return strings.Compare(n.Name, name) })
		if ok && known {
			lists[k] = append(lists[k], cluster.NodeIndex(i))
			slices.Sort(lists[k])
		}
	}
	residents := make(plan.Residents, len(lists))
	for owner, k := range place {
		residents[owner] = lists[k]
	}
	return residents
}

// owners numbers the owners of the candidates.
func owners(nodes []plan.Node) map[strategies.Owner]int {
	place := map[strategies.Owner]int{}
	for i := range nodes {
		for k := range nodes[i].Pods {
			owner := strategies.OwnerOf(nodes[i].Pods[k].Pod)
			if _, known := place[owner]; !known && owner.UID != "" && nodes[i].Pods[k].Refused == "" {
				place[owner] = len(place)
			}
		}
	}
	return place
}

// node converts a node for the planner.
func (g *gathering) node(ctx context.Context, n *plugin.Node) (plan.Node, error) {
	info, read, i := n.Info, n.Read, int(n.At)
	node := plan.Node{
		Name:        n.Name(),
		Allocatable: info.Node.Allocatable,
		State:       n.State,
		Current:     read.Current[usage.AtAvg5m],
		Predicted:   n.Predicted,
		Ceiling:     g.Observed.Board.Ceiling(n.At),
		Domain:      n.Domain,
		Zone:        n.Zone,
		Closed:      info.Node.Closed(),
	}
	node.OverOther = g.Observed.Lines.OverOther(i, usage.CPU)
	if node.State != thresholds.Hot {
		rest := node.Predicted[cluster.CPU]
		for j := range read.Pods {
			node.Load.Add(read.Pods[j].Expected)
			rest -= read.Pods[j].Used[cluster.CPU]
		}
		g.expect(&node, i, rest)
		return node, g.ahead(ctx, &node, n)
	}
	pods, left, err := g.Pods(ctx, n, nil)
	if err != nil {
		return plan.Node{}, err
	}
	node.Pods, node.Begun = pods, g.Observed.Begun[info.Node.Name]
	node.Current = node.Current.Minus(left).AtLeastZero()
	node.LatestMilliCores = read.Current[usage.AtLast][cluster.CPU] - left[cluster.CPU]
	rest := node.Current[cluster.CPU]
	for k := range pods {
		node.Load.Add(pods[k].Expected)
		rest -= pods[k].Usage[cluster.CPU]
	}
	stays := g.expect(&node, i, rest)
	for k := range pods {
		pods[k].Expected = pods[k].Expected.Toward(stays)
	}
	node.Need, node.NeedForSignals = g.Observed.Lines.Need(i, left), g.Observed.Lines.NeedOther(i, usage.CPU, left)[cluster.CPU]
	node.Full = !g.Options.Unforeseen && strategies.Full(&info.Node, read.Whole(usage.AtAvg5m))
	if node.Full {
		node.FullForHours = strategies.Full(&info.Node, cluster.Amounts{cluster.CPU: read.LeastMilliCores})
		node.Unserved = strategies.EstimateUnserved(pods)
	}
	node.ByCPU = g.Observed.Lines.OverOnly(i, usage.CPU)
	return node, nil
}

// ahead determines the recurring usage of a node that is not hot, and its candidates if
// the node is expected to become hot. It finds no candidates while replacements are
// expected on any node, because the node's forecast does not include their patterns yet.
func (g *gathering) ahead(ctx context.Context, node *plan.Node, n *plugin.Node) (err error) {
	info, read := n.Info, n.Read
	recurs := func(p usage.PodUsage) bool { return p.Pattern.Recurs() }
	if !read.Known() || g.Options.Recurs.Period == 0 || !slices.ContainsFunc(read.Pods, recurs) {
		return nil
	}
	node.Course = new(forecast.Course)
	for j := range read.Pods {
		node.Course.Add(read.Pods[j].Expected, read.Pods[j].Pattern)
	}
	node.Course.Shift(read.System[cluster.CPU])
	if node.Certain = node.Course; len(g.Observed.Coming) > 0 || !node.WillBeHot(g.Options.Recurs) {
		return nil
	}
	node.Certain = new(*node.Course)
	without(node.Certain, read, func(j int) bool { return read.Pods[j].Lasts && !info.Pods[j].Terminating })
	if !node.WillBeHot(g.Options.Recurs) {
		return nil
	}
	if node.Pods, _, err = g.Pods(ctx, n, nil); err != nil {
		return err
	}
	k := 0
	without(node.Certain, read, func(j int) bool {
		listed := k < len(node.Pods) && node.Pods[k].Pod == info.Pods[j]
		if listed {
			k++
		}
		return listed || !read.Pods[j].Lasts || info.Pods[j].Terminating // the other pods are already leaving
	})
	return nil
}

// without subtracts, from a node's certain usage, the usage of pods that will not stay.
func without(certain *forecast.Course, read *usage.NodeUsage, stays func(j int) bool) {
	for j := range read.Pods {
		if !stays(j) {
			certain.Remove(read.Pods[j].Expected, read.Pods[j].Pattern)
		}
	}
}

// expect completes the expected usage of a node: rest is its usage in addition to its
// pods. It returns, for each span of the forecast, the share of that usage that is
// believed to last.
func (g *gathering) expect(node *plan.Node, i int, rest int64) [forecast.Spans]float64 {
	node.Load.Shift(rest)
	node.Load.Correlate(g.Observed.View.Nodes[i].Expected)
	stays := node.Load.Stays(node.Allocatable[cluster.CPU])
	node.Load = node.Load.Toward(stays)
	node.HotLine = g.Observed.Lines.HotLine(i, cluster.CPU)
	return stays
}
