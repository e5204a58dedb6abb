package nodesync

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/access"
	"github.com/evenkeel/evenkeel/observe/usage/annotations"
)

// object returns a node whose record is r and whose labels are in that record.
func object(labels map[string]string, r record) Object {
	o := Object{Name: "a", ResourceVersion: "7", Labels: labels}
	if !r.empty() {
		o.Annotations = map[string]string{RecordKey: text(r)}
	}
	return o
}

func TestDecideOfLabels(t *testing.T) {
	ours := record{Labels: map[string]string{"status": "presure"}}
	pressed := map[string]string{"status": "presure", "disk": "ssd"}
	renamed := marking()
	renamed.Taint.Enabled, renamed.Label.Key = false, "load"
	labelOnly := marking()
	labelOnly.Taint.Enabled = false
	apart := labelOnly
	apart.Record = ApartRecordKey
	respelled := labelOnly
	respelled.Label.Value = "pressure"
	const set = `{"metadata":{"annotations":{"evenkeel.io/nodesync":"{\"labels\":{\"status\":\"presure\"}}"},"labels":{"status":"presure"},"resourceVersion":"7"}}`
	const unset = `{"metadata":{"annotations":{"evenkeel.io/nodesync":null},"labels":{"status":null},"resourceVersion":"7"}}`
	cases := map[string]struct {
		policy  Policy
		node    Node
		want    string
		foreign []Foreign
	}{
		"a hot node without labels":      {labelOnly, Node{Object: object(nil, record{}), Known: true, Hot: true}, set, nil},
		"hot and labelled":               {labelOnly, Node{Object: object(pressed, ours), Known: true, Hot: true}, "", nil},
		"no longer hot":                  {labelOnly, Node{Object: object(pressed, ours), Known: true}, unset, nil},
		"neither hot nor labelled":       {labelOnly, Node{Object: object(nil, record{}), Known: true}, "", nil},
		"unknown and labelled":           {labelOnly, Node{Object: object(pressed, ours)}, "", nil},
		"unknown and not labelled":       {labelOnly, Node{Object: object(nil, record{}), Hot: true}, "", nil},
		"the policy has been turned off": {off(), Node{Object: object(pressed, ours)}, unset, nil},
		"the policy leaves the node out": {labelOnly, Node{Object: object(pressed, ours), Known: true, Hot: true, Out: true}, unset, nil},
		"left out, and never labelled":   {labelOnly, Node{Object: object(nil, record{}), Known: true, Hot: true, Out: true}, "", nil},
		"a separate process has its own record": {apart, Node{Object: object(nil, record{}), Known: true, Hot: true},
			strings.Replace(set, RecordKey, ApartRecordKey, 1), nil},
		"the evicting process's keys are not the other's": {apart, Node{Object: object(pressed, ours), Known: true}, "", nil},
		"another writer's value, while hot": {
			labelOnly, Node{Object: object(map[string]string{"status": "mine"}, record{}), Known: true, Hot: true}, "",
			[]Foreign{{KindLabel, "status"}},
		},
		"another writer's value that happens to equal ours, while hot": {
			labelOnly, Node{Object: object(pressed, record{}), Known: true, Hot: true}, "", []Foreign{{KindLabel, "status"}},
		},
		"another writer's value that happens to equal ours, no longer hot": {
			labelOnly, Node{Object: object(pressed, record{}), Known: true}, "", nil,
		},
		"another writer took our key": {
			labelOnly, Node{Object: object(map[string]string{"status": "mine"}, ours), Known: true},
			`{"metadata":{"annotations":{"evenkeel.io/nodesync":null},"resourceVersion":"7"}}`, nil,
		},
		"someone removed our label": {labelOnly, Node{Object: object(nil, ours), Known: true, Hot: true},
			`{"metadata":{"labels":{"status":"presure"},"resourceVersion":"7"}}`, nil},
		"the value of the policy changed": {respelled, Node{Object: object(pressed, ours), Known: true, Hot: true},
			`{"metadata":{"annotations":{"evenkeel.io/nodesync":"{\"labels\":{\"status\":\"pressure\"}}"},"labels":{"status":"pressure"},"resourceVersion":"7"}}`, nil},
		"the key of the policy changed": {renamed, Node{Object: object(pressed, ours), Known: true, Hot: true},
			`{"metadata":{"annotations":{"evenkeel.io/nodesync":"{\"labels\":{\"load\":\"presure\"}}"},"labels":{"load":"presure","status":null},"resourceVersion":"7"}}`, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Decide(tc.policy, tc.node, noon)
			if diff := cmp.Diff(tc.want, bodyOf(t, got.Patch)); diff != "" {
				t.Errorf("patch (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.foreign, got.Foreign); diff != "" {
				t.Errorf("foreign (-want +got):\n%s", diff)
			}
		})
	}
}

// bodyOf returns the body of a patch; empty if it changes nothing.
func bodyOf(t *testing.T, p Patch) string {
	t.Helper()
	if p.Empty() {
		return ""
	}
	body, err := p.Body("7")
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestDecideOfTaints(t *testing.T) {
	const key = "evenkeel.io/hot"
	full := v1.Taint{Key: "disk", Value: "full", Effect: v1.TaintEffectNoSchedule}
	namesake := v1.Taint{Key: key, Value: "true", Effect: v1.TaintEffectNoExecute}
	soft := v1.Taint{Key: key, Value: "true", Effect: v1.TaintEffectPreferNoSchedule}
	other := v1.Taint{Key: key, Value: "false", Effect: v1.TaintEffectPreferNoSchedule}
	ours := record{Taints: map[string]string{key: "true"}}
	policy := marking()
	policy.Label.Enabled = false
	cases := map[string]struct {
		taints []v1.Taint
		record record
		hot    bool
		want   []v1.Taint // nil: unchanged
		gone   bool
		lost   bool // usage is unknown
	}{
		"of unknown usage, hot before":  {taints: []v1.Taint{soft, full}, record: ours, lost: true},
		"of unknown usage, cool before": {taints: []v1.Taint{full}, hot: true, lost: true},
		"the first taint":               {hot: true, want: []v1.Taint{soft}},
		"one more":                      {taints: []v1.Taint{full, namesake}, hot: true, want: []v1.Taint{full, namesake, soft}},
		"as it should be":               {taints: []v1.Taint{soft, full}, record: ours, hot: true},
		"cooled":                        {taints: []v1.Taint{full, soft, namesake}, record: ours, want: []v1.Taint{full, namesake}},
		"the last taint":                {taints: []v1.Taint{soft}, record: ours, gone: true},
		"another writer's stays":        {taints: []v1.Taint{other}, hot: true},
		"another writer's that happens to equal ours stays": {taints: []v1.Taint{soft}},
		"another writer's is ignored":                       {taints: []v1.Taint{full, namesake}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := object(nil, tc.record)
			o.Taints = tc.taints
			got := Decide(policy, Node{Object: o, Known: !tc.lost, Hot: tc.hot}, noon).Patch
			if diff := cmp.Diff(tc.want, got.allTaints); diff != "" {
				t.Errorf("taints (-want +got):\n%s", diff)
			}
			if changed := len(got.taints) > 0; changed != (tc.want != nil || tc.gone) {
				t.Errorf("changed: %v", changed)
			}
		})
	}
}

func TestDecideOfAnnotations(t *testing.T) {
	shanghai := time.FixedZone("Asia/Shanghai", 8*60*60)
	policy := publishing(usage.Avg5m)
	plus := policy
	plus.Annotations.Unit, plus.Annotations.Location = annotations.Percent, shanghai
	// written returns an object whose two annotations were written at a time.
	written := func(unit annotations.Unit, at time.Time, zone *time.Location) Object {
		r := record{Annotations: map[string]string{
			"cpu_usage_avg_5m": annotations.Format(20, unit, at, zone), "mem_usage_avg_5m": annotations.Format(20, unit, at, zone),
		}}
		o := object(nil, r)
		maps.Copy(o.Annotations, r.Annotations)
		return o
	}
	bare := Object{Name: "a"}
	crane := map[string]string{"cpu_usage_avg_5m": "0.38000,2026-11-21T12:00:00Z", "mem_usage_avg_5m": "0.50000,2026-11-21T12:00:00Z"}
	cases := map[string]struct {
		policy Policy
		node   Node
		want   map[string]string // nil: none
	}{
		"never written":          {policy, measured(bare, noon, usage.Avg5m), crane},
		"written a period ago":   {policy, measured(written(annotations.Fraction, noon.Add(-3*time.Minute), nil), noon, usage.Avg5m), crane},
		"written by the future":  {policy, measured(written(annotations.Fraction, noon.Add(time.Hour), nil), noon, usage.Avg5m), crane},
		"written in Shanghai":    {policy, measured(written(annotations.Fraction, noon, shanghai), noon, usage.Avg5m), crane},
		"written in percent":     {policy, measured(written(annotations.Percent, noon, nil), noon, usage.Avg5m), crane},
		"written at this moment": {policy, measured(written(annotations.Fraction, noon, nil), noon, usage.Avg5m), nil},
		"nothing new since":      {policy, measured(written(annotations.Fraction, noon.Add(-4*time.Minute), nil), noon.Add(-4*time.Minute), usage.Avg5m), nil},
		"an older reading":       {policy, measured(written(annotations.Fraction, noon, nil), noon.Add(-4*time.Minute), usage.Avg5m), nil},
		"too old to believe":     {policy, measured(bare, noon.Add(-8*time.Minute), usage.Avg5m), nil},
		"measured in the future": {policy, measured(bare, noon.Add(2*time.Minute), usage.Avg5m), nil},
		"never measured":         {policy, measured(bare, time.Time{}, usage.Avg5m), nil},
		"no such window":         {policy, measured(bare, noon, max1h), nil},
		"unknown":                {policy, Node{Object: written(annotations.Fraction, noon.Add(-time.Hour), nil)}, nil},
		"as the relative has it": {plus, measured(bare, noon, usage.Avg5m),
			map[string]string{"cpu_usage_avg_5m": "38.0,2026-11-21T20:00:00Z", "mem_usage_avg_5m": "50.0,2026-11-21T20:00:00Z"}},
		"turned off": {off(), measured(written(annotations.Fraction, noon, nil), noon, usage.Avg5m),
			map[string]string{"cpu_usage_avg_5m": "", "mem_usage_avg_5m": ""}},
		"a window less": {publishing(max1h), measured(written(annotations.Fraction, noon, nil), noon, usage.Avg5m),
			map[string]string{"cpu_usage_avg_5m": "", "mem_usage_avg_5m": ""}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Decide(tc.policy, tc.node, noon).Patch
			var changed map[string]string
			for key, value := range got.annotations {
				if changed == nil {
					changed = map[string]string{}
				}
				changed[key] = ""
				if value != nil {
					changed[key] = *value
				}
			}
			if diff := cmp.Diff(tc.want, changed); diff != "" {
				t.Errorf("changed (-want +got):\n%s", diff)
			}
			if tc.want == nil && !got.Empty() {
				t.Errorf("patched: %s", bodyOf(t, got))
			}
		})
	}
}

// Nodes are written one after another. With a pass every 15 seconds, each is patched once per
// period, and no pass patches many more than its share.
func TestNodesTakeTurns(t *testing.T) {
	const nodes, passes = 600, 4 * 12 // 12 minutes are 4 periods of 3
	policy := publishing(usage.Avg5m, max1h)
	objects := make([]Object, nodes)
	for i := range objects {
		objects[i].Name = fmt.Sprintf("node-%d", i)
	}
	patched, most := 0, 0
	for pass := range passes + 1 {
		now := noon.Add(time.Duration(pass) * 15 * time.Second)
		count := 0
		for i := range objects {
			patch := Decide(policy, measured(objects[i], now.Add(-10*time.Second), usage.Avg5m, max1h), now).Patch
			if patch.Empty() {
				continue
			}
			count++
			objects[i].Annotations = after(objects[i].Annotations, patch)
		}
		if pass > 0 {
			patched, most = patched+count, max(most, count)
		} else if count != nodes {
			t.Errorf("the first pass writes %d of %d nodes", count, nodes)
		}
	}
	// A pass's share is 600 nodes * 15 s / 180 s = 50, but names are not spread evenly.
	if patched != 4*nodes || most > 100 {
		t.Errorf("%d patches, want %d; at most %d in a pass, want 100", patched, 4*nodes, most)
	}
}

// after returns annotations to which a patch was applied.
func after(have map[string]string, patch Patch) map[string]string {
	all := map[string]string{}
	maps.Copy(all, have)
	for key, value := range patch.annotations {
		if value == nil {
			delete(all, key)
		} else {
			all[key] = *value
		}
	}
	if patch.record != nil {
		all[RecordKey] = *patch.record
	}
	return all
}

// The source of annotations can read the written annotations.
func TestTheSourceReadsWhatIsWritten(t *testing.T) {
	policy := publishing(off().Annotations.Windows...)
	patch := Decide(policy, measured(Object{Name: "a"}, noon, policy.Annotations.Windows...), noon).Patch
	source, err := new(annotations.Config).Default().(*annotations.Config).New(&access.Env{Now: func() time.Time { return noon }})
	if err != nil {
		t.Fatal(err)
	}
	node := cluster.Node{Name: "a", Capacity: cluster.Amounts{10_000, 1000}, UsageAnnotations: after(nil, patch)}
	batch, err := source.Sample(t.Context(), &cluster.Snapshot{Nodes: []*cluster.NodePods{{Node: node}}})
	if err != nil || len(batch.Nodes) != 1 || len(batch.Nodes[0].Readings) != 6 {
		t.Fatalf("read: %+v, %v", batch, err)
	}
	for _, reading := range batch.Nodes[0].Readings {
		want := map[usage.Metric]float64{usage.CPU: 3800, usage.Memory: 500}[reading.Metric]
		if math.Abs(reading.Value-want) > 1e-6 || !reading.At.Equal(noon) {
			t.Errorf("%s over %s: %v at %v, want %v", reading.Metric, reading.Window, reading.Value, reading.At, want)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	policy := everything()
	node := measured(Object{Name: "a"}, noon, usage.Avg5m)
	node.Annotations = after(nil, Decide(policy, node, noon).Patch)
	b.ReportAllocs()
	for b.Loop() {
		if v := Decide(policy, node, noon); !v.Patch.Empty() {
			b.Fatal("a patch")
		}
	}
}
