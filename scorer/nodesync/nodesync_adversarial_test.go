package nodesync

import (
	"fmt"
	"math"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// A record that cannot have been written by us owns nothing, so it causes no removals.
func TestHostileRecords(t *testing.T) {
	many := record{Annotations: map[string]string{}}
	for i := range maxRecordEntries + 1 {
		many.Annotations[fmt.Sprintf("cpu_usage_avg_%dm", i+1)] = "x"
	}
	cases := map[string]string{
		"nothing":             "",
		"no JSON":             "status",
		"half of one":         `{"labels":{"status":"presure"}`,
		"two of them":         `{"labels":{"status":"presure"}}{}`,
		"other types":         `{"labels":["status"]}`,
		"a list":              `[]`,
		"too long":            `{"labels":{"status":"presure"},"x":"` + strings.Repeat("x", maxRecordBytes) + `"}`,
		"too many":            text(many),
		"Kubernetes' label":   `{"labels":{"status":"presure","node-restriction.kubernetes.io/team":"a"}}`,
		"Kubernetes' taint":   `{"labels":{"status":"presure"},"taints":{"node.kubernetes.io/unschedulable":""}}`,
		"k8s.io itself":       `{"labels":{"status":"presure","k8s.io/x":"a"}}`,
		"foreign annotations": `{"labels":{"status":"presure"},"annotations":{"volumes.kubernetes.io/controller-managed-attach-detach":"true"}}`,
	}
	for name, corrupt := range cases {
		t.Run(name, func(t *testing.T) {
			o := Object{
				Name: "a", Annotations: map[string]string{RecordKey: corrupt},
				Labels: map[string]string{"status": "presure", "node-restriction.kubernetes.io/team": "a", "k8s.io/x": "a"},
				Taints: []v1.Taint{{Key: "node.kubernetes.io/unschedulable", Effect: v1.TaintEffectPreferNoSchedule}},
			}
			for _, policy := range []Policy{{}, marking()} {
				got := Decide(policy, Node{Object: o, Known: true}, noon)
				if !got.Corrupt {
					t.Error("believed")
				}
				if !got.Patch.Empty() {
					t.Errorf("patched: %s", bodyOf(t, got.Patch))
				}
			}
		})
	}
}

// A node with a corrupt record can still be marked, and its record is valid afterwards.
func TestACorruptRecordIsWrittenAnew(t *testing.T) {
	o := Object{Name: "a", Annotations: map[string]string{RecordKey: "{"}}
	got := Decide(marking(), Node{Object: o, Known: true, Hot: true}, noon)
	want := text(record{Labels: map[string]string{"status": "presure"}, Taints: map[string]string{"evenkeel.io/hot": "true"}})
	if !got.Corrupt || got.Patch.record == nil || *got.Patch.record != want {
		t.Errorf("got %+v, want the record %s", got, want)
	}
}

func TestAbsurdFiguresAreNotPublished(t *testing.T) {
	for _, percent := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 151, 1e300} {
		n := measured(Object{Name: "a"}, noon)
		n.Percent[usage.Avg5m] = cluster.Percents{cluster.CPU: percent, cluster.Memory: percent}
		if got := Decide(publishing(usage.Avg5m), n, noon).Patch; !got.Empty() {
			t.Errorf("%v %% is published: %s", percent, bodyOf(t, got))
		}
	}
}

func TestAnotherWritersAnnotationsSurvive(t *testing.T) {
	const foreign = "0.70000,2026-11-21T19:58:00Z"
	o := Object{Name: "a", Annotations: map[string]string{"cpu_usage_avg_5m": foreign}}
	got := Decide(publishing(usage.Avg5m), measured(o, noon, usage.Avg5m), noon)
	if _, touched := got.Patch.annotations["cpu_usage_avg_5m"]; touched || len(got.Foreign) != 1 {
		t.Errorf("touched: %v, foreign: %v", touched, got.Foreign)
	}
	if got.Patch.annotations["mem_usage_avg_5m"] == nil {
		t.Error("a key that no other writer has is not written")
	}
}

// Whatever a node's record contains, only recorded keys with unchanged values are removed, and
// never a key of Kubernetes.
func FuzzRecord(f *testing.F) {
	f.Add(`{"labels":{"status":"presure"}}`, "status", "presure")
	f.Add(`{"labels":{"node-restriction.kubernetes.io/x":"y"}}`, "node-restriction.kubernetes.io/x", "y")
	f.Add(`{"labels":null,"taints":{"":""}}`, "", "")
	f.Fuzz(func(t *testing.T, corrupt, key, value string) {
		o := Object{Name: "a", Labels: map[string]string{key: value}, Annotations: map[string]string{RecordKey: corrupt}}
		got := Decide(Policy{}, Node{Object: o}, noon)
		if len(got.Patch.labels) > 0 && (strings.Contains(key, "kubernetes.io/") || !strings.Contains(corrupt, "labels")) {
			t.Errorf("%s removes %q", corrupt, key)
		}
		if got.Corrupt && !got.Patch.Empty() {
			t.Errorf("%s is corrupt and removes %v", corrupt, got.Patch.Kinds())
		}
	})
}
