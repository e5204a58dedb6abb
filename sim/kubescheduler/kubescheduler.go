// Package kubescheduler places pods as kube-scheduler would: the filter and score plugins of its default profile, compiled
// in, its sample of nodes and the scores of an extender at its weight, on nodes and pods that are told to it.
//
// It decides where one pod goes, given where all others are. Queues, preemption and binding are left out: a pod that fits
// nowhere stays without a node. Ties go by a seed, so that a run can be repeated.
package kubescheduler

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// Extender is who is asked beside the plugins.
type Extender interface {
	// Filter returns the places of those nodes that are left for a pod.
	Filter(pod *v1.Pod, nodes []string) (kept []int)
	// Prioritize returns a score from 0 to 10 for each node.
	Prioritize(pod *v1.Pod, nodes []string) []int64
}

// Config says how pods are placed.
type Config struct {
	// Extender may be nil. Weight is its weight in kube-scheduler's configuration: a point counts ten times as much.
	Extender Extender
	Weight   int64
	// Seed decides between nodes of the same score.
	Seed uint64
}

// Scheduler places pods. It is not safe for concurrent use.
type Scheduler struct {
	config  Config
	ctx     context.Context
	plugins framework.Framework
	nodes   *nodes
	random  *rand.Rand
	// start is where the search for feasible nodes goes on.
	start int

	feasible []fwk.NodeInfo
	names    []string
}

// New returns a Scheduler that knows these nodes. Goroutines that its plugins start end with ctx.
func New(ctx context.Context, config Config, known []*v1.Node) (*Scheduler, error) {
	ctx = klog.NewContext(ctx, logr.Discard())
	nodes := newNodes(known)
	plugins, err := newFramework(ctx, nodes)
	if err != nil {
		return nil, fmt.Errorf("building kube-scheduler's plugins: %w", err)
	}
	return &Scheduler{
		config: config, ctx: ctx, plugins: plugins, nodes: nodes, random: rand.New(rand.NewPCG(config.Seed, 1)),
	}, nil
}

// Add tells of a pod that is bound to a node.
func (s *Scheduler) Add(pod *v1.Pod) error { return s.nodes.add(pod) }

// Remove tells that a bound pod is gone.
func (s *Scheduler) Remove(pod *v1.Pod) error { return s.nodes.remove(s.ctx, pod) }

// ErrUnschedulable says that a pod fits on no node.
var ErrUnschedulable = errors.New("no node fits")

// Place returns the node for a pod that has none.
func (s *Scheduler) Place(pod *v1.Pod) (node string, err error) {
	state := framework.NewCycleState()
	if err := s.filter(state, pod); err != nil {
		return "", err
	}
	switch len(s.feasible) {
	case 0:
		return "", ErrUnschedulable
	case 1:
		return s.feasible[0].Node().Name, nil
	}
	scores, err := s.score(state, pod)
	if err != nil {
		return "", err
	}
	return s.choose(scores), nil
}

// filter fills feasible.
func (s *Scheduler) filter(state fwk.CycleState, pod *v1.Pod) error {
	s.feasible = s.feasible[:0]
	result, status, _ := s.plugins.RunPreFilterPlugins(s.ctx, state, pod)
	if !status.IsSuccess() {
		if status.IsRejected() {
			return nil
		}
		return fmt.Errorf("placing pod %q: %w", pod.Name, status.AsError())
	}
	all := s.nodes.infos
	wanted, seen := wantedOf(len(all)), 0
	for ; seen < len(all) && len(s.feasible) < wanted; seen++ {
		info := all[(s.start+seen)%len(all)]
		if !result.AllNodes() && !result.NodeNames.Has(info.Node().Name) {
			continue
		}
		if s.plugins.RunFilterPlugins(s.ctx, state, pod, info).IsSuccess() {
			s.feasible = append(s.feasible, info)
		}
	}
	s.start = (s.start + seen) % max(1, len(all))
	s.askFilter(pod)
	return nil
}

// The numbers of kube-scheduler's own search, pkg/scheduler/schedule_one.go.
const (
	fewestNodes   = 100
	fewestPercent = 5
)

// wantedOf is among how many feasible nodes kube-scheduler chooses by default.
func wantedOf(all int) int {
	if all < fewestNodes {
		return all
	}
	percent := max(50-all/125, fewestPercent)
	return max(all*percent/100, fewestNodes)
}

func (s *Scheduler) askFilter(pod *v1.Pod) {
	s.names = s.names[:0]
	for _, info := range s.feasible {
		s.names = append(s.names, info.Node().Name)
	}
	if s.config.Extender == nil || len(s.feasible) == 0 {
		return
	}
	kept := s.config.Extender.Filter(pod, s.names)
	for k, place := range kept {
		s.feasible[k], s.names[k] = s.feasible[place], s.names[place] // places come in order
	}
	s.feasible, s.names = s.feasible[:len(kept)], s.names[:len(kept)]
}

func (s *Scheduler) score(state fwk.CycleState, pod *v1.Pod) ([]int64, error) {
	if status := s.plugins.RunPreScorePlugins(s.ctx, state, pod, s.feasible); !status.IsSuccess() {
		return nil, fmt.Errorf("scoring for pod %q: %w", pod.Name, status.AsError())
	}
	scored, status := s.plugins.RunScorePlugins(s.ctx, state, pod, s.feasible)
	if !status.IsSuccess() {
		return nil, fmt.Errorf("scoring for pod %q: %w", pod.Name, status.AsError())
	}
	scores := make([]int64, len(scored))
	for i := range scored {
		scores[i] = scored[i].TotalScore
	}
	if s.config.Extender != nil {
		for i, points := range s.config.Extender.Prioritize(pod, s.names) {
			scores[i] += points * s.config.Weight * pointValue
		}
	}
	return scores, nil
}

// pointValue is what kube-scheduler makes of an extender's point: 0 to 10 become 0 to 100.
const pointValue = 10

// choose returns one of the nodes with the highest score.
func (s *Scheduler) choose(scores []int64) string {
	best, ties := 0, 1
	for i := 1; i < len(scores); i++ {
		switch {
		case scores[i] > scores[best]:
			best, ties = i, 1
		case scores[i] == scores[best]:
			if ties++; s.random.IntN(ties) == 0 {
				best = i
			}
		}
	}
	return s.names[best]
}
