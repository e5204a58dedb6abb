// Package kubescheduler places pods as kube-scheduler would: with the filter and score
// plugins of its default profile, its sampling of nodes and the weighted scores of an
// extender, on the nodes and pods that the caller reports.
//
// It decides only where a pod goes, given where all others are. Queues, preemption and
// binding are not simulated, so a pod that fits on no node stays without one. A seed
// breaks ties, so that a run can be repeated.
package kubescheduler

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Extender is called in addition to the plugins.
type Extender interface {
	// Filter returns the indices of the nodes that are left for a pod, in ascending order.
	Filter(pod *v1.Pod, nodes []string) (kept []int)
	// Prioritize returns a score for each node: from 0 to 10, or from 0 to 100 if
	// Config.Plugin is set.
	Prioritize(pod *v1.Pod, nodes []string) []int64
}

// Config configures how pods are placed.
type Config struct {
	// Extender may be nil. Weight is its weight in kube-scheduler's configuration; each of
	// its points counts ten times.
	Extender Extender
	Weight   int64
	// Plugin means that Extender represents a plugin, whose points count only once.
	Plugin bool
	// Unscored names the plugins whose scores are disabled.
	Unscored []string
	// Seed breaks ties between nodes of the same score.
	Seed uint64
}

// Scheduler places pods. It is not safe for concurrent use.
type Scheduler struct {
	config  Config
	ctx     context.Context
	plugins framework.Framework
	nodes   *nodes
	random  *rand.Rand
	memo    memo
	// start is the index at which the next search for feasible nodes begins.
	start int

	feasible []int // indices of nodes
	unscored []int // indices in feasible
	infos    []fwk.NodeInfo
	names    []string
	scores   []int64
}

// New returns a Scheduler for these nodes. Goroutines that its plugins start
// end with ctx.
func New(ctx context.Context, config Config, known []*v1.Node) (*Scheduler, error) {
	ctx = klog.NewContext(ctx, logr.Discard())
	nodes := newNodes(known)
	plugins, err := newFramework(ctx, nodes, config.Unscored)
	if err != nil {
		return nil, fmt.Errorf("building kube-scheduler's plugins: %w", err)
	}
	return &Scheduler{
		config: config, ctx: ctx, plugins: plugins, nodes: nodes, memo: memo{known: map[kind][]remembered{}, maxKinds: maxRemembered / max(1, len(nodes.infos))},
		random: rand.New(rand.NewPCG(config.Seed, 1)),
	}, nil
}

// Add adds a pod that was bound to a node.
func (s *Scheduler) Add(pod *v1.Pod) error { return s.nodes.add(pod) }

// Remove removes a bound pod that no longer exists.
func (s *Scheduler) Remove(pod *v1.Pod) error { return s.nodes.remove(s.ctx, pod) }

// Taint replaces the taints of a node.
func (s *Scheduler) Taint(node string, taints []v1.Taint) error { return s.nodes.taint(node, taints) }

// ErrUnschedulable means that a pod fits on no node.
var ErrUnschedulable = errors.New("no node fits")

// Place returns the node for a pod that has none. As in kube-scheduler, the node that is
// nominated in its status is tried first.
func (s *Scheduler) Place(pod *v1.Pod) (node string, err error) {
	state, known := framework.NewCycleState(), s.memo.of(pod, s.nodes)
	if err := s.filter(state, pod, known); err != nil {
		return "", err
	}
	switch len(s.feasible) {
	case 0:
		return "", ErrUnschedulable
	case 1:
		return s.nodes.names[s.feasible[0]], nil
	}
	if err := s.score(state, pod, known); err != nil {
		return "", err
	}
	return s.choose(), nil
}

// filter fills feasible.
func (s *Scheduler) filter(state fwk.CycleState, pod *v1.Pod, known []remembered) error {
	s.feasible = s.feasible[:0]
	result, status, _ := s.plugins.RunPreFilterPlugins(s.ctx, state, pod)
	if !status.IsSuccess() {
		if status.IsRejected() {
			return nil
		}
		return fmt.Errorf("placing pod %q: %w", pod.Name, status.AsError())
	}
	if i, ok := slices.BinarySearch(s.nodes.names, pod.Status.NominatedNodeName); ok && s.fits(state, pod, i, known) {
		s.feasible = append(s.feasible, i)
		if s.askFilter(pod); len(s.feasible) > 0 {
			return nil
		}
	}
	all := len(s.nodes.infos)
	wanted, seen := wantedOf(all), 0
	for ; seen < all && len(s.feasible) < wanted; seen++ {
		i := (s.start + seen) % all
		if !result.AllNodes() && !result.NodeNames.Has(s.nodes.names[i]) {
			continue
		}
		if s.fits(state, pod, i, known) {
			s.feasible = append(s.feasible, i)
		}
	}
	s.start = (s.start + seen) % max(1, all)
	s.askFilter(pod)
	return nil
}

// fits reports whether a node takes the pod. It reads and updates what is remembered
// about the node.
func (s *Scheduler) fits(state fwk.CycleState, pod *v1.Pod, i int, known []remembered) bool {
	version := s.nodes.infos[i].GetGeneration()
	if known != nil && known[i].version == version {
		return known[i].fits
	}
	fits := s.plugins.RunFilterPlugins(s.ctx, state, pod, s.nodes.infos[i]).IsSuccess()
	if known != nil {
		known[i] = remembered{version: version, fits: fits}
	}
	return fits
}

// Constants of kube-scheduler's own search, in pkg/scheduler/schedule_one.go.
const (
	fewestNodes   = 100
	fewestPercent = 5
)

// wantedOf returns how many feasible nodes kube-scheduler looks for by default.
func wantedOf(all int) int {
	if all < fewestNodes {
		return all
	}
	percent := max(50-all/125, fewestPercent)
	return max(all*percent/100, fewestNodes)
}

func (s *Scheduler) askFilter(pod *v1.Pod) {
	if s.config.Extender == nil || len(s.feasible) == 0 {
		return
	}
	kept := s.config.Extender.Filter(pod, s.feasibleNames())
	for k, place := range kept {
		s.feasible[k] = s.feasible[place] // safe in place, because the indices ascend
	}
	s.feasible = s.feasible[:len(kept)]
}

func (s *Scheduler) feasibleNames() []string {
	s.names = s.names[:0]
	for _, i := range s.feasible {
		s.names = append(s.names, s.nodes.names[i])
	}
	return s.names
}

// score fills scores.
func (s *Scheduler) score(state fwk.CycleState, pod *v1.Pod, known []remembered) error {
	s.scores, s.unscored, s.infos = s.scores[:0], s.unscored[:0], s.infos[:0]
	for k, i := range s.feasible {
		if known != nil && known[i].scored {
			s.scores = append(s.scores, int64(known[i].score))
			continue
		}
		s.scores, s.unscored, s.infos = append(s.scores, 0), append(s.unscored, k), append(s.infos, s.nodes.infos[i])
	}
	if err := s.scoreAnew(state, pod, known); err != nil {
		return err
	}
	if s.config.Extender != nil {
		value := s.config.Weight
		if !s.config.Plugin {
			value *= pointValue
		}
		for k, points := range s.config.Extender.Prioritize(pod, s.feasibleNames()) {
			s.scores[k] += points * value
		}
	}
	return nil
}

// scoreAnew lets the plugins score the nodes whose scores are not remembered.
func (s *Scheduler) scoreAnew(state fwk.CycleState, pod *v1.Pod, known []remembered) error {
	if len(s.unscored) == 0 {
		return nil
	}
	if status := s.plugins.RunPreScorePlugins(s.ctx, state, pod, s.infos); !status.IsSuccess() {
		return fmt.Errorf("scoring for pod %q: %w", pod.Name, status.AsError())
	}
	scored, status := s.plugins.RunScorePlugins(s.ctx, state, pod, s.infos)
	if !status.IsSuccess() {
		return fmt.Errorf("scoring for pod %q: %w", pod.Name, status.AsError())
	}
	for j, k := range s.unscored {
		s.scores[k] = scored[j].TotalScore
		if known != nil {
			v := &known[s.feasible[k]]
			v.score, v.scored = int32(scored[j].TotalScore), true // at most a hundred times the sum of the plugins' weights
		}
	}
	return nil
}

// pointValue converts an extender's points from 0–10 to 0–100, as kube-scheduler does.
const pointValue = 10

// choose returns one of the nodes with the highest score.
func (s *Scheduler) choose() string {
	best, ties := 0, 1
	for k := 1; k < len(s.scores); k++ {
		switch {
		case s.scores[k] > s.scores[best]:
			best, ties = k, 1
		case s.scores[k] == s.scores[best]:
			if ties++; s.random.IntN(ties) == 0 {
				best = k
			}
		}
	}
	return s.nodes.names[s.feasible[best]]
}
