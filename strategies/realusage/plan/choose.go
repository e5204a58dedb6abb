package plan

import (
	"cmp"
	"slices"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/strategies"
)

// smallest returns the fewest pods whose usage covers the need; among equally
// few, the least disruptive, then those of least weight. All pods together must
// cover it.
//
// If one resource is needed, the largest pods are the fewest. If several are,
// the search deepens by number of pods and after searchSteps falls back to
// greedy, which may take one or two more than the fewest.
func smallest(pods []*strategies.Pod, by *scale) []*strategies.Pod {
	need := by.need
	ordered := slices.Clone(pods)
	slices.SortStableFunc(ordered, func(a, b *strategies.Pod) int {
		return cmp.Or(-cmp.Compare(relief(a, need), relief(b, need)), compareDisruption(a, b))
	})
	chosen := greedy(ordered, need)
	if needed(need) > 1 && len(chosen) > 1 {
		search := &search{pods: ordered, need: need, best: len(chosen)}
		search.bounds()
		if found := search.run(); found != nil {
			chosen = found
		}
	}
	return refine(chosen, pods, by)
}

// greedy takes the pod of greatest relief, ties in order, until the need is
// covered. It then drops pods that became superfluous.
func greedy(ordered []*strategies.Pod, need cluster.Amounts) []*strategies.Pod {
	var chosen []*strategies.Pod
	left := need
	remaining := slices.Clone(ordered)
	for positive(left) && len(remaining) > 0 {
		best := 0
		for i := range remaining {
			if relief(remaining[i], left) > relief(remaining[best], left) {
				best = i
			}
		}
		chosen = append(chosen, remaining[best])
		left = left.Minus(remaining[best].Usage)
		remaining = slices.Delete(remaining, best, best+1)
	}
	for i := range slices.Backward(chosen) {
		others := slices.Delete(slices.Clone(chosen), i, i+1)
		if covers(sum(others), need) {
			chosen = others
		}
	}
	return chosen
}

// searchSteps bounds the search for fewer pods to about a millisecond.
const searchSteps = 20_000

// search looks for fewer than best pods that cover the need.
type search struct {
	pods []*strategies.Pod
	need cluster.Amounts
	best int
	// top[r][k] is the sum of the k largest usages of resource r, the most that
	// any k pods can relieve.
	top   [cluster.NumResources][]int64
	steps int
	path  []*strategies.Pod
}

func (s *search) bounds() {
	for r := range s.top {
		usages := make([]int64, len(s.pods))
		for i, pod := range s.pods {
			usages[i] = pod.Usage[r]
		}
		slices.SortFunc(usages, func(a, b int64) int { return cmp.Compare(b, a) })
		s.top[r] = make([]int64, len(usages)+1)
		for i, u := range usages {
			s.top[r][i+1] = s.top[r][i] + u
		}
	}
}

func (s *search) run() []*strategies.Pod {
	for k := 1; k < s.best; k++ {
		if s.reachable(s.need, k) && s.descend(0, k, s.need) {
			return slices.Clone(s.path)
		}
		if s.steps > searchSteps {
			return nil
		}
	}
	return nil
}

func (s *search) reachable(left cluster.Amounts, k int) bool {
	for r := range left {
		if left[r] > s.top[r][k] {
			return false
		}
	}
	return true
}

func (s *search) descend(from, k int, left cluster.Amounts) bool {
	if !positive(left) {
		return true
	}
	if k == 0 || !s.reachable(left, k) {
		return false
	}
	for i := from; i+k <= len(s.pods); i++ {
		if s.steps++; s.steps > searchSteps {
			return false
		}
		s.path = append(s.path, s.pods[i])
		if s.descend(i+1, k-1, left.Minus(s.pods[i].Usage)) {
			return true
		}
		s.path = s.path[:len(s.path)-1]
	}
	return false
}

// refine replaces chosen pods by others that disrupt less, or as much with less
// weight, as long as the need stays covered.
func refine(chosen, pods []*strategies.Pod, by *scale) []*strategies.Pod {
	others := slices.DeleteFunc(slices.Clone(pods), func(pod *strategies.Pod) bool { return slices.Contains(chosen, pod) })
	slices.SortStableFunc(others, func(a, b *strategies.Pod) int {
		return cmp.Or(compareDisruption(a, b), cmp.Compare(by.weight(a), by.weight(b)), compareKey(a, b))
	})
	slices.SortStableFunc(chosen, func(a, b *strategies.Pod) int { return -compareDisruption(a, b) })
	total := sum(chosen)
	for i, pod := range chosen {
		for j, other := range others {
			if c := compareDisruption(other, pod); c > 0 || c == 0 && by.weight(other) >= by.weight(pod) {
				continue
			}
			if with := total.Minus(pod.Usage).Plus(other.Usage); covers(with, by.need) {
				total, chosen[i], others[j] = with, other, pod
				break
			}
		}
	}
	return chosen
}

// relief is how much of the need a pod covers: the sum over resources of its
// usage's share of the need, at most 1 each.
func relief(pod *strategies.Pod, need cluster.Amounts) float64 {
	total := 0.0
	for r := range need {
		if need[r] > 0 {
			total += min(float64(pod.Usage[r])/float64(need[r]), 1)
		}
	}
	return total
}

func compareDisruption(a, b *strategies.Pod) int { return cmp.Compare(a.Disruption, b.Disruption) }

// priorities returns the distinct priorities, lowest first.
func priorities(pods []*strategies.Pod) []int32 {
	var all []int32
	for _, pod := range pods {
		all = append(all, pod.Priority)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func upTo(pods []*strategies.Pod, priority int32) []*strategies.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod *strategies.Pod) bool { return pod.Priority > priority })
}

func sum(pods []*strategies.Pod) cluster.Amounts {
	var total cluster.Amounts
	for _, pod := range pods {
		total = total.Plus(pod.Usage)
	}
	return total
}

func covers(have, need cluster.Amounts) bool { return !positive(need.Minus(have)) }

func positive(a cluster.Amounts) bool { return needed(a) > 0 }

func needed(a cluster.Amounts) int {
	n := 0
	for _, v := range a {
		if v > 0 {
			n++
		}
	}
	return n
}
