package prometheus

import (
	"context"
	"fmt"
	"math"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/source"
)

type podKey struct{ namespace, name string }

// podParts records what has been seen for a pod: a bit per window and resource,
// and whether anything was wrong.
type podParts uint8

const (
	avg5mParts podParts = 1<<cluster.NumResources - 1
	lastParts  podParts = avg5mParts << cluster.NumResources
	wrong      podParts = 1 << 7
)

// podTable merges the answers to several queries about the same pods.
type podTable struct {
	namespaceLabel, podLabel string
	index                    map[podKey]int32
	pods                     []usage.PodSample
	parts                    []podParts
	// own holds, for each pod, the parts that were scraped at the address of the pod's
	// node.
	own []podParts
	// nodes holds each pod's node. For an unknown pod, this is the node at whose address
	// it was first seen, or unknownNode.
	nodes      []int
	namespaces map[string]string
	problems   usage.Problems
	// origin and disputed belong to the answer of the current query. Disputed
	// pods have several values, none of which is known to come from a kubelet.
	origin   origin
	disputed map[int32]bool
	// settled is true if an answer shows that nodes are scraped at their own
	// addresses.
	settled bool
	// query is the query whose answer is being read, and series the number of its series
	// so far.
	query  *podQuery
	series int
}

const unknownNode = -1

// begin starts reading the answer to a query.
func (t *podTable) begin(query *podQuery, r *round) {
	t.query, t.series, t.origin, t.disputed = query, 0, newOrigin(r.index), map[int32]bool{}
}

func newPodTable(config *settings, expected int) *podTable {
	return &podTable{
		namespaceLabel: config.NamespaceLabel, podLabel: config.PodLabel,
		index: make(map[podKey]int32, expected), pods: make([]usage.PodSample, 0, expected), parts: make([]podParts, 0, expected),
		namespaces: map[string]string{},
	}
}

// instant adds a series.
func (t *podTable) instant(s *series) {
	t.series++
	namespace, name := s.label(t.namespaceLabel), s.label(t.podLabel)
	if len(namespace) == 0 || len(name) == 0 || len(s.points) == 0 {
		t.problems.Add(usage.Unreadable, fmt.Sprintf("%s of pods: no pod's value in %s", t.query.metric, s))
		return
	}
	node, known := t.origin.index.runsOn(namespace, name)
	if !known {
		node, known = t.origin.index.named(s.label(instanceLabel))
	}
	if !known {
		node = unknownNode
	}
	i, ok := t.index[podKey{string(namespace), string(name)}]
	if !ok {
		i = t.add(namespace, name, node)
	}
	own := false
	if t.query.builtIn {
		t.origin.seen(s)
		if known {
			var why string
			if own, why = t.origin.judge(s, node); why == notItsAddress && t.origin.index.predecessor(namespace, name, s.points[0].at) {
				t.problems.Add(usage.UnmatchedPod, fmt.Sprintf("%s of pod %s/%s on its last node", t.query.metric, namespace, name))
				return
			} else if why != "" {
				t.foreign(i, why)
				return
			}
			t.origin.counts(s, node, own)
		}
	}
	t.set(i, own, s.points[0])
}

func (t *podTable) add(namespace, name []byte, node int) int32 {
	key := podKey{name: string(name)}
	if key.namespace, _ = t.namespaces[string(namespace)]; key.namespace == "" {
		key.namespace = string(namespace)
		t.namespaces[key.namespace] = key.namespace
	}
	i := int32(len(t.pods)) // bounded by the size of the answer
	t.index[key] = i
	t.pods, t.parts = append(t.pods, usage.PodSample{Namespace: key.namespace, Name: key.name}), append(t.parts, 0)
	t.own, t.nodes = append(t.own, 0), append(t.nodes, node)
	return i
}

// part returns the bit for a query's values.
func (q *podQuery) part() podParts {
	resource, _ := resourceOf(q.metric)
	if q.window == usage.Last {
		resource += cluster.NumResources
	}
	return 1 << resource
}

// set stores a value. Two values for the same pod cannot both be the sum of its
// containers, so such a pod is rejected. However, if both values come from kubelets and
// agree, the higher one counts. A kubelet's value replaces a value from another page.
func (t *podTable) set(i int32, own bool, p point) {
	pod, metric, part := &t.pods[i], t.query.metric, t.query.part()
	resource, _ := resourceOf(metric)
	amount, ok := podAmount(p.value, t.query.unit)
	have, haveOwn := t.parts[i]&part != 0, t.own[i]&part != 0
	sample := &pod.Avg5m
	if t.query.window == usage.Last {
		sample = &pod.Last
	}
	switch {
	case have && haveOwn && !own:
		t.foreign(i, notItsAddress)
		return
	case !ok:
		t.problems.Add(usage.Absurd, fmt.Sprintf("%s of pod %s/%s: %v", metric, pod.Namespace, pod.Name, p.value))
		if own || !t.query.builtIn {
			t.parts[i] |= wrong
		}
		return
	case have && own && !haveOwn:
		t.foreign(i, notItsAddress)
	case have && own && near(amount, sample.Used[resource], resource):
		amount = max(amount, sample.Used[resource])
	case have && !own && t.query.builtIn:
		t.problems.Add(usage.Duplicate, fmt.Sprintf("%s of pod %s/%s", metric, pod.Namespace, pod.Name))
		t.disputed[i] = true
		return
	case have:
		t.problems.Add(usage.Duplicate, fmt.Sprintf("%s of pod %s/%s", metric, pod.Namespace, pod.Name))
		t.parts[i] |= wrong
		return
	}
	t.parts[i] |= part
	if own {
		t.own[i] |= part
	}
	sample.Used[resource] = amount
	if sample.At.IsZero() || p.at.Before(sample.At) {
		sample.At = p.at
	}
}

// near reports whether two amounts may be measurements of the same pod by two scrapes.
func near(a, b int64, resource cluster.Resource) bool {
	least := cluster.Amounts{10, 16 << 20} // a small pod's values may differ by their full amounts
	return math.Abs(float64(a-b)) <= max(agreePart*float64(max(a, b)), float64(least[resource]))
}

// podAmount converts a value to milli-cores or bytes. The Store handles negative values.
func podAmount(value float64, unit source.Unit) (int64, bool) {
	const most = 1 << 53
	if unit == source.Cores {
		value *= 1000
	}
	if !(math.Abs(value) < most) { // also true for NaN
		return 0, false
	}
	return int64(math.Round(value)), true
}

// foreign counts a value that is rejected for a pod.
func (t *podTable) foreign(i int32, why string) {
	t.problems.Add(usage.Foreign, shown(fmt.Sprintf("%s of pod %s/%s %s", t.query.metric, t.pods[i].Namespace, t.pods[i].Name, why)))
}

// finish drops the values of a query that cannot be attributed to this
// cluster's pods.
func (t *podTable) finish() {
	if !t.query.builtIn {
		return
	}
	part := t.query.part()
	settled := t.origin.settled()
	t.settled = t.settled || settled
	mixed, all := t.origin.mixed(string(t.query.metric)+" of pods", &t.problems)
	for i := range t.disputed {
		if t.own[i]&part == 0 {
			t.parts[i] |= wrong
		}
	}
	for i := range t.parts {
		switch {
		case t.parts[i]&part == 0:
		case all || mixed[t.nodes[i]]:
			t.parts[i] &^= part
		case settled && t.own[i]&part == 0:
			t.problems.Add(usage.UnmatchedPod, fmt.Sprintf("%s of pod %s/%s", t.query.metric, t.pods[i].Namespace, t.pods[i].Name))
			t.parts[i] &^= part
		}
	}
}

// result returns the pods with complete windows, and counts the others. A
// window with only one resource is dropped.
func (t *podTable) result() []usage.PodSample {
	kept := t.pods[:0]
	for i := range t.pods {
		pod, parts := t.pods[i], t.parts[i]
		if parts&wrong != 0 {
			continue
		}
		halves := 0
		for _, window := range []podParts{avg5mParts, lastParts} {
			if have := parts & window; have != 0 && have != window {
				halves++
				parts &^= window
			}
		}
		if halves > 0 {
			t.problems.Add(usage.Unreadable, fmt.Sprintf("pod %s/%s has only one of cpu and memory", pod.Namespace, pod.Name))
		}
		if parts&avg5mParts == 0 {
			pod.Avg5m = usage.Sample{}
		}
		if parts&lastParts == 0 {
			pod.Last = usage.Sample{}
		}
		if parts != 0 {
			kept = append(kept, pod)
		}
	}
	return kept
}

// pods queries all pods, one query after the other, because they share a table
// and are the heaviest queries for the server.
func (s *Source) pods(ctx context.Context, r *round, expected int) (*podTable, error) {
	table := newPodTable(&s.config, expected)
	for i := range s.podQueries {
		query := &s.podQueries[i]
		table.begin(query, r)
		if err := s.instant(ctx, query.expression, table.instant, &table.problems); err != nil {
			return nil, fmt.Errorf("querying %s %s of pods: %w", query.metric, query.window, err)
		}
		if table.series == 0 {
			table.problems.Add(usage.Unreadable, nothing(query.expression))
		}
		table.finish()
	}
	return table, nil
}
