package recording

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
)

const gib = 1 << 30

var start = time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC)

func aNode(name string) *v1.Node {
	list := v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("8"), v1.ResourceMemory: resource.MustParse("32Gi"), v1.ResourcePods: resource.MustParse("110"),
		"vendor.secret/card": resource.MustParse("2"),
	}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			v1.LabelHostname: name, v1.LabelTopologyZone: "secret-zone", "secret.org/tier": "secret-gold", "secret.org/generation": "9",
		}},
		Spec: v1.NodeSpec{Taints: []v1.Taint{{Key: "secret.org/only", Value: "secret-team", Effect: v1.TaintEffectNoSchedule}}},
		Status: v1.NodeStatus{
			Allocatable: list, Capacity: list, Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
		},
	}
}

func aPod(name, node, ownerKind, owner string) *v1.Pod {
	selector := &metav1.LabelSelector{
		MatchLabels:      map[string]string{"secret-app": "secret-web"},
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "secret-app", Operator: metav1.LabelSelectorOpIn, Values: []string{"secret-web"}}},
	}
	term := v1.PodAffinityTerm{LabelSelector: selector, TopologyKey: "secret.org/rack", Namespaces: []string{"secret-space"}, NamespaceSelector: selector}
	node1 := v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{
		{Key: "secret.org/tier", Operator: v1.NodeSelectorOpIn, Values: []string{"secret-gold"}},
		{Key: "secret.org/generation", Operator: v1.NodeSelectorOpGt, Values: []string{"7"}},
	}}
	priority := int32(100)
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "secret-space", Name: name, UID: types.UID("uid-" + name), Annotations: map[string]string{"secret": "secret"},
			Labels: map[string]string{"secret-app": "secret-web", "pod-template-hash": "abc"},
		},
		Spec: v1.PodSpec{
			NodeName: node, SchedulerName: "secret-scheduler", Priority: &priority, PriorityClassName: "secret-class",
			NodeSelector: map[string]string{"secret.org/tier": "secret-gold"},
			Tolerations:  []v1.Toleration{{Key: "secret.org/only", Operator: v1.TolerationOpEqual, Value: "secret-team"}},
			TopologySpreadConstraints: []v1.TopologySpreadConstraint{
				{MaxSkew: 1, TopologyKey: "secret.org/rack", WhenUnsatisfiable: v1.DoNotSchedule, LabelSelector: selector, MatchLabelKeys: []string{"secret-app"}},
			},
			Affinity: &v1.Affinity{
				NodeAffinity: &v1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution:  &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{node1}},
					PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 1, Preference: node1}},
				},
				PodAffinity: &v1.PodAffinity{
					PreferredDuringSchedulingIgnoredDuringExecution: []v1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term}},
				},
				PodAntiAffinity: &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{term}},
			},
			Containers: []v1.Container{{
				Name: "secret-container", Image: "secret.org/image", Env: []v1.EnvVar{{Name: "SECRET", Value: "secret"}},
				Ports: []v1.ContainerPort{{HostPort: 8080, HostIP: "10.11.12.13", Name: "secret"}},
				Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
					v1.ResourceCPU: resource.MustParse("500m"), v1.ResourceMemory: resource.MustParse("1Gi"), "vendor.secret/card": resource.MustParse("1"),
				}},
			}},
		},
		Status: v1.PodStatus{Phase: v1.PodRunning},
	}
	if owner != "" {
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion(ownerKind), Kind: ownerKind, Name: owner, UID: types.UID(owner), Controller: new(true)}}
	}
	return pod
}

func uses(milli, bytes int64) *cluster.Amounts { return &cluster.Amounts{milli, bytes} }

// write returns a recording of two nodes with a pod that stays, one that goes, one that comes, and
// unknown values.
func write(t testing.TB, hash *Hasher) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{Start: start, IntervalSeconds: 300}, hash)
	if err != nil {
		t.Fatal(err)
	}
	a, b := aNode("secret-a"), aNode("secret-b")
	stays, goes := aPod("secret-web-1", "secret-a", "ReplicaSet", "secret-web"), aPod("secret-web-2", "secret-b", "ReplicaSet", "secret-web")
	comes := aPod("secret-agent", "secret-b", "DaemonSet", "secret-agent")
	for number, pods := range [][]PodReading{
		{{stays, uses(100, gib)}, {goes, nil}},
		{{stays, nil}, {goes, uses(300, gib)}, {aPod("secret-lost", "secret-elsewhere", "", ""), uses(1, 1)}},
		{{stays, uses(200, 2*gib)}, {comes, uses(50, gib/2)}},
	} {
		nodes := []NodeReading{{a, uses(int64(1000+number), 4*gib)}, {b, nil}}
		if err := w.Reading(number, nodes, pods); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// text unpacks a recording.
func text(t testing.TB, packed []byte) string {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(unpacked)
}

// replaced returns a recording in which one line is replaced.
func replaced(t testing.TB, number int, by string) string {
	t.Helper()
	lines := strings.SplitAfter(text(t, write(t, nil)), "\n")
	lines[number-1] = by + "\n"
	return strings.Join(lines, "")
}

func show(series *Series) string {
	var s strings.Builder
	for k := range series.CPU {
		fmt.Fprintf(&s, "%d:%v/%v ", series.From+k, series.CPU[k], series.Memory[k]/gib)
	}
	return strings.TrimSpace(s.String())
}
