package annotations

import (
	"maps"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/source"
)

// item is one annotation that is being converted to a reading.
type item struct {
	node    *cluster.Node
	key     string
	value   Value
	period  time.Duration
	percent float64
	reading usage.Reading
}

func (i *item) name() string { return i.node.Name + " " + i.key }

// collect returns the readable annotations, node by node in the order of their
// keys.
func (s *Source) collect(snapshot *cluster.Snapshot, problems *usage.Problems) []item {
	found := make([]item, 0, 6*len(snapshot.Nodes))
	for _, np := range snapshot.Nodes {
		node, before := &np.Node, len(found)
		for _, key := range slices.Sorted(maps.Keys(node.UsageAnnotations)) {
			metric, window, ok := ParseKey(key)
			if !ok {
				continue
			}
			value, cause := Parse(node.UsageAnnotations[key])
			if cause == "" && len(found)-before == maxReadings {
				cause = usage.Unreadable
			}
			if cause != "" {
				problems.Add(cause, node.Name+" "+key)
				continue
			}
			found = append(found, item{
				node: node, key: key, value: value, period: s.period(window), reading: usage.Reading{Metric: metric, Window: window},
			})
		}
	}
	return found
}

func (s *Source) period(window usage.Window) time.Duration {
	if period, ok := s.periods[window.Over]; ok {
		return period
	}
	return source.OtherPeriod
}

// DefaultPeriod returns how often a writer renews a window unless the policy
// overrides it.
func DefaultPeriod(window usage.Window) time.Duration {
	c := Config{Periods: source.Periods()}
	return c.source(nil).period(window)
}

// location returns the time zone of the writer's clock.
func (s *Source) location(found []item, now time.Time) *time.Location {
	if s.zone != nil || len(found) == 0 {
		return s.zone
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var newest []Value
	shortest := found[0].period
	var last *cluster.Node
	for i := range found {
		it := &found[i]
		shortest = min(shortest, it.period)
		switch {
		case !s.zones.possible(it.value, now):
		case it.node != last:
			newest, last = append(newest, it.value), it.node
		case it.value.Wall.After(newest[len(newest)-1].Wall):
			newest[len(newest)-1] = it.value
		}
	}
	if len(newest) == 0 {
		return s.zones.oldest(found[0].value)
	}
	slices.SortFunc(newest, func(a, b Value) int { return b.Wall.Compare(a.Wall) })
	return s.zones.choose(newest[len(newest)/outliers], now, shortest+Grace)
}

// fresh returns the items that are neither from the future nor expired.
func fresh(found []item, location *time.Location, now time.Time, problems *usage.Problems) []item {
	kept := found[:0]
	for _, it := range found {
		at := it.value.In(location)
		switch {
		case at.Sub(now) > skew:
			problems.Add(usage.Future, it.name())
		case !now.Before(at.Add(it.period + Grace)):
			problems.Add(usage.Stale, it.name())
		default:
			it.reading.At, it.reading.MaxAge = at, it.period+Grace
			kept = append(kept, it)
		}
	}
	return kept
}

// agreeing returns the items in the unit of the majority. There should be one writer. If
// two writers use different units, the values of the minority are discarded; in case of a
// tie, all values are.
func agreeing(found []item, stated Unit, problems *usage.Problems) []item {
	count := map[Unit]int{}
	units := make([]Unit, 0, len(found))
	kept := found[:0]
	for _, it := range found {
		percent, unit, cause := it.value.Percent(stated)
		if cause != "" {
			problems.Add(cause, it.name())
			continue
		}
		it.percent = percent
		kept, units = append(kept, it), append(units, unit)
		count[unit]++
	}
	if len(count) < 2 {
		return kept
	}
	good := kept[:0]
	for i, it := range kept {
		if 2*count[units[i]] > len(kept) {
			good = append(good, it)
		} else {
			problems.Add(usage.Contradictory, it.name())
		}
	}
	return good
}

// samples converts percentages of capacity into amounts, node by node.
func samples(found []item, problems *usage.Problems) []usage.NodeSample {
	var nodes []usage.NodeSample
	for i := range found {
		it := &found[i]
		whole := it.node.Capacity[resources[it.reading.Metric]]
		if whole <= 0 {
			problems.Add(usage.Unreadable, it.name()+": the node states no capacity")
			continue
		}
		it.reading.Value = it.percent / 100 * float64(whole)
		if len(nodes) == 0 || nodes[len(nodes)-1].Name != it.node.Name {
			nodes = append(nodes, usage.NodeSample{Name: it.node.Name})
		}
		last := &nodes[len(nodes)-1]
		last.Readings = append(last.Readings, it.reading)
	}
	return nodes
}

var resources = map[usage.Metric]cluster.Resource{usage.CPU: cluster.CPU, usage.Memory: cluster.Memory}
