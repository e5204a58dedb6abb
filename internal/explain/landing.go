package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies/realusage/plan"
	"github.com/evenkeel/evenkeel/thresholds"
)

// Landing is what one node is to a pod, were it the only one that is moved.
type Landing struct {
	Node  string `json:"node"`
	State string `json:"state"`
	// Planned says that the plan moves the pod here.
	Planned bool `json:"planned,omitempty"`
	// Before and After are what the node is predicted at without the pod and with it, in percent of allocatable; absent where
	// its usage is not known.
	Before *Percents `json:"before,omitempty"`
	After  *Percents `json:"after,omitempty"`
	// Score is what the extender would give the node among those that take the pod; absent where it does not.
	Score *int `json:"score,omitempty"`
	// Refused is why the node does not take the pod, Detail says more; empty where it does.
	Refused string `json:"refused,omitempty"`
	Detail  string `json:"detail,omitempty"`
}

// addLandings says what the other nodes are to a pod: by the plan's own eyes where there is one, else by usage alone.
func (f *Facts) addLandings(p *Pod, record *cluster.Pod, used cluster.Amounts) {
	var landings []plan.Landing
	if f.Planned != nil {
		landings = f.Planned.Landings
	}
	if len(landings) == 0 {
		landings, p.ByUsageAlone = f.byUsage(record, used), true
	}
	p.Landings = make([]Landing, len(landings))
	for i := range landings {
		l := &landings[i]
		p.Landings[i] = Landing{
			Node: l.Node, State: string(l.State),
			Planned: p.Move != nil && p.Move.To == l.Node, Refused: string(l.Refused), Detail: orElse(l.Detail, orElse(f.limited(l), l.Refused.Sentence())),
		}
		if l.State != thresholds.Unknown {
			before, after := percents(l.Before), percents(l.After)
			p.Landings[i].Before, p.Landings[i].After = &before, &after
		}
	}
	f.score(p.Landings, used)
	slices.SortStableFunc(p.Landings, compareLandings)
}

// byUsage says what nodes are to a pod without asking kube-scheduler's filters.
func (f *Facts) byUsage(record *cluster.Pod, used cluster.Amounts) []plan.Landing {
	var landings []plan.Landing
	for i := range f.View.Nodes {
		info := &f.View.Snapshot.Nodes[i].Node
		predicted, known := f.Board.Predicted(int32(i)) //nolint:gosec // a cluster has fewer than 2^31 nodes
		if info.Name == record.Node || !known {
			continue
		}
		l := plan.Landing{
			Node: info.Name, State: f.States[info.Name].State,
			Before: predicted.PercentOf(info.Allocatable), After: predicted.Plus(used).PercentOf(info.Allocatable),
		}
		switch why := closed(info); {
		case why != "":
			l.Refused, l.Detail = reasons.NodeClosed, why
		case !f.Board.Lands(int32(i), used): //nolint:gosec // as above
			l.Refused = reasons.AboveRejectLine
		}
		landings = append(landings, l)
	}
	return landings
}

// score gives the nodes that take the pod the extender's scores.
func (f *Facts) score(landings []Landing, used cluster.Amounts) {
	var taking []*Landing
	var nodes []int32
	for i := range landings {
		if at := f.Board.Node([]byte(landings[i].Node)); landings[i].Refused == "" && at >= 0 {
			taking, nodes = append(taking, &landings[i]), append(nodes, at)
		}
	}
	scores := make([]int8, len(nodes))
	f.Board.Score(nodes, used, scores)
	for i, l := range taking {
		score := int(scores[i])
		l.Score = &score
	}
}

// compareLandings puts the planned landing first, then the others that take the pod by their score, then the rest.
func compareLandings(a, b Landing) int {
	return cmp.Or(-compareBool(a.Planned, b.Planned), compareBool(a.Refused != "", b.Refused != ""),
		-cmp.Compare(scoreOf(&a), scoreOf(&b)), strings.Compare(a.Refused, b.Refused), strings.Compare(a.Node, b.Node))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

func scoreOf(l *Landing) int {
	if l.Score == nil {
		return -1
	}
	return *l.Score
}
