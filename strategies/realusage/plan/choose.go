package plan

import (
	"cmp"
	"slices"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/strategies"
)

// cheapest returns the pods with the lowest total cost whose usage covers the need, which
// are the fewest pods if all cost the same. At equal cost it prefers the least disruptive
// pods, then those with the least weight. The caller must ensure that all pods together
// cover the need.
//
// If one resource is needed and all pods cost the same, the largest pods are the
// cheapest. Otherwise it searches with increasing cost, and after searchSteps falls back
// to greedy, which may cost one or two pods more.
func cheapest(pods []*strategies.Pod, by *scale) []*strategies.Pod {
	need := by.need
	ordered := slices.Clone(pods)
	slices.SortStableFunc(ordered, func(a, b *strategies.Pod) int {
		return cmp.Or(-cmp.Compare(relief(a, need), relief(b, need)), compareDisruption(a, b))
	})
	chosen := greedy(ordered, need)
	unit := commonCost(pods)
	if len(chosen) > 1 && needed(need) > 1 || cost(chosen) > unit && !sameCost(pods) {
		if found := newSearch(ordered, need, unit, cost(chosen)).run(); found != nil {
			chosen = found
		}
	}
	return refine(chosen, pods, by)
}

// greedy repeatedly takes the pod with the greatest relief for its cost, the first one in
// case of a tie, until the need is covered. It then drops pods that became superfluous.
func greedy(ordered []*strategies.Pod, need cluster.Amounts) []*strategies.Pod {
	var chosen []*strategies.Pod
	left := need
	remaining := slices.Clone(ordered)
	for positive(left) && len(remaining) > 0 {
		best, most := 0, -1.0
		for i, pod := range remaining {
			if worth := relief(pod, left) / float64(pod.Disruption.Cost()); worth > most {
				best, most = i, worth
			}
		}
		chosen = append(chosen, remaining[best])
		left = left.Minus(remaining[best].Wanted())
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

func cost(pods []*strategies.Pod) (total int) {
	for _, pod := range pods {
		total += pod.Disruption.Cost()
	}
	return total
}

func sameCost(pods []*strategies.Pod) bool {
	return !slices.ContainsFunc(pods, func(pod *strategies.Pod) bool { return pod.Disruption.Cost() != pods[0].Disruption.Cost() })
}

func commonCost(pods []*strategies.Pod) (unit int) {
	for _, pod := range pods {
		for c := pod.Disruption.Cost(); c != 0; {
			unit, c = c, unit%c
		}
	}
	return unit
}

// searchSteps bounds the search for cheaper pods to about a millisecond, searchTable the
// size of its lookup table.
const (
	searchSteps = 20_000
	searchTable = 200_000
)

// search looks for pods that cover the need and cost less than best, in units of cost.
type search struct {
	pods  []*strategies.Pod
	costs []int // costs of the pods
	need  cluster.Amounts
	best  int
	// most[r][i*best+c] is the maximum relief of resource r by pods from the i-th on at a
	// cost of at most c.
	most  [cluster.NumResources][]int64
	steps int
	path  []*strategies.Pod
}

func newSearch(pods []*strategies.Pod, need cluster.Amounts, unit, best int) *search {
	s := &search{pods: pods, costs: make([]int, len(pods)), need: need, best: best / unit}
	for i, pod := range pods {
		s.costs[i] = pod.Disruption.Cost() / unit
	}
	if (len(pods)+1)*s.best > searchTable {
		s.best = 0 // no cheaper pods can be found
	}
	for r := range s.most {
		if need[r] > 0 {
			s.most[r] = s.reach(cluster.Resource(r))
		}
	}
	return s
}

func (s *search) reach(r cluster.Resource) []int64 {
	most := make([]int64, (len(s.pods)+1)*s.best)
	for i, pod := range slices.Backward(s.pods) {
		row, next := most[i*s.best:(i+1)*s.best], most[(i+1)*s.best:(i+2)*s.best]
		copy(row, next)
		for c := s.costs[i]; c < s.best; c++ {
			row[c] = max(row[c], pod.Wanted()[r]+next[c-s.costs[i]])
		}
	}
	return most
}

func (s *search) run() []*strategies.Pod {
	for c := 1; c < s.best; c++ {
		if s.descend(0, c, s.need) {
			return slices.Clone(s.path)
		}
		if s.steps > searchSteps {
			return nil
		}
	}
	return nil
}

// reachable reports whether pods from the i-th on can cover the rest of the need, left,
// at a cost of at most c. A resource that was not needed at first can become needed only
// if a pod has negative usage.
func (s *search) reachable(i, c int, left cluster.Amounts) bool {
	for r := range left {
		if left[r] > 0 && (s.most[r] == nil || left[r] > s.most[r][i*s.best+c]) {
			return false
		}
	}
	return true
}

func (s *search) descend(from, c int, left cluster.Amounts) bool {
	if !positive(left) {
		return true
	}
	for i := from; i < len(s.pods) && s.reachable(i, c, left); i++ {
		if s.steps++; s.steps > searchSteps {
			return false
		}
		if s.costs[i] > c {
			continue
		}
		s.path = append(s.path, s.pods[i])
		if s.descend(i+1, c-s.costs[i], left.Minus(s.pods[i].Wanted())) {
			return true
		}
		s.path = s.path[:len(s.path)-1]
	}
	return false
}

// refine replaces chosen pods by others that disrupt less, or equally but with less
// weight, as long as the need stays covered.
func refine(chosen, pods []*strategies.Pod, by *scale) []*strategies.Pod {
	others := slices.DeleteFunc(slices.Clone(pods), func(pod *strategies.Pod) bool { return slices.Contains(chosen, pod) })
	slices.SortStableFunc(others, func(a, b *strategies.Pod) int {
		if c := cmp.Or(compareDisruption(a, b), cmp.Compare(by.weight(a), by.weight(b))); c != 0 {
			return c
		}
		return compareKey(a, b)
	})
	slices.SortStableFunc(chosen, func(a, b *strategies.Pod) int { return -compareDisruption(a, b) })
	total := sum(chosen)
	for i, pod := range chosen {
		for j, other := range others {
			if c := compareDisruption(other, pod); c > 0 || c == 0 && by.weight(other) >= by.weight(pod) {
				continue
			}
			if with := total.Minus(pod.Wanted()).Plus(other.Wanted()); covers(with, by.need) {
				total, chosen[i], others[j] = with, other, pod
				break
			}
		}
	}
	spread(chosen, others, by)
	return chosen
}

// spread replaces chosen small pods by similar ones whose owner gives away a smaller
// share of its pods, as long as the need stays covered. If many pods of one owner move,
// they wait for each other's replacements, and may not all be allowed within an hour.
func spread(chosen, others []*strategies.Pod, by *scale) {
	taken, total := map[strategies.Owner]int{}, sum(chosen)
	for _, pod := range chosen {
		taken[strategies.OwnerOf(pod.Pod)]++
	}
	if len(taken) == len(chosen) {
		return // one pod of each owner
	}
	for changed := true; changed; { // each replacement makes the shares more equal
		changed = false
		for i, pod := range chosen {
			from := strategies.OwnerOf(pod.Pod)
			if taken[from] < 2 {
				continue
			}
			for j, other := range others {
				to := strategies.OwnerOf(other.Pod)
				if to == from || !by.alike(pod, other) || taken[from]*by.pods(to) <= (taken[to]+1)*by.pods(from) {
					continue
				}
				if with := total.Minus(pod.Wanted()).Plus(other.Wanted()); covers(with, by.need) {
					taken[from], taken[to] = taken[from]-1, taken[to]+1
					total, chosen[i], others[j], changed = with, other, pod, true
					break
				}
			}
		}
	}
}

// relief returns how much of the need a pod covers: the sum, over resources, of its usage
// as a share of the need, at most 1 each.
func relief(pod *strategies.Pod, need cluster.Amounts) float64 {
	total := 0.0
	for r := range need {
		if need[r] > 0 {
			total += min(float64(pod.Wanted()[r])/float64(need[r]), 1)
		}
	}
	return total
}

func compareDisruption(a, b *strategies.Pod) int { return a.Disruption.Compare(b.Disruption) }

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
		total = total.Plus(pod.Wanted())
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
