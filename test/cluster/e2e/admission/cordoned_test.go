package admission

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/test/cluster/apifault"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// variants lists the component of each way of steering.
var variants = map[string]string{"gate": "admission-steering", "names": "admission-steering-names"}

func cordon(f *stage.Fixture, cordoned bool, nodes ...string) {
	f.T.Helper()
	patch := fmt.Appendf(nil, `{"spec": {"unschedulable": %t}}`, cordoned)
	for _, node := range nodes {
		if _, err := f.Client().CoreV1().Nodes().Patch(f.T.Context(), node, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			f.T.Fatal(err)
		}
	}
}

// keyedNodes returns the nodes in the only open key, the planned one first.
func keyedNodes(f *stage.Fixture, o ours) []string {
	f.T.Helper()
	list, err := o.keys.Namespace("shop").List(f.T.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 1 {
		f.T.Fatalf("%v, %v, want one Steering", list, err)
	}
	targets, _, _ := unstructured.NestedMap(list.Items[0].Object, "targets")
	if len(targets) != 1 {
		f.T.Fatalf("keys %v, want one", targets)
	}
	for owner := range targets {
		nodes, _, err := unstructured.NestedStringSlice(targets, owner, "nodes")
		if err != nil || len(nodes) == 0 {
			f.T.Fatalf("nodes %v, %v", nodes, err)
		}
		return nodes
	}
	return nil
}

// between starts a process and, as soon as a key is set but the pod has not been evicted yet, calls
// closes with the nodes in the key. It waits for a new pod, and returns a function that returns all
// new pods so far.
func between(f *stage.Fixture, o ours, d *diary, policy string, closes func(nodes []string)) (came func() []life) {
	f.T.Helper()
	through, proxy := f.APIProxy()
	late := evicting.at.rule(apifault.SlowBy(time.Second), nil)
	late.Times = 1
	proxy.Apply(late)
	before := d.lives()
	through.Serve(policy)
	f.Eventually(time.Minute, "an eviction", func(context.Context) bool { return proxy.Seen(apifault.Slow) > 0 })
	closes(keyedNodes(f, o))
	came = func() (all []life) {
		for uid, l := range d.lives() {
			// The diary may see a pod late: one that already had a node when it was first seen is
			// not new.
			if _, old := before[uid]; !old && (l.bound.IsZero() || l.bound.After(l.came)) {
				all = append(all, l)
			}
		}
		slices.SortFunc(all, func(a, b life) int { return a.came.Compare(b.came) })
		return all
	}
	f.Eventually(10*time.Second, "a replacement", func(context.Context) bool { return len(came()) > 0 })
	return came
}

// The planned node is cordoned after the key is set, before the replacement is created. Another
// cool node takes the replacement within two seconds.
//
//e2e:tier all
func TestPlannedNodeCloses(t *testing.T) {
	for name, component := range variants {
		t.Run(name, func(t *testing.T) {
			f, o, story, policy := quick(t, component)
			d, closed := follow(t, f), ""
			came := between(f, o, d, policy, func(nodes []string) {
				closed = nodes[0]
				cordon(f, true, closed)
			})
			f.Eventually(10*time.Second, "the replacement to be bound", func(context.Context) bool { return !came()[0].bound.IsZero() })
			first := came()[0]
			took := first.bound.Sub(first.came)
			if took > 2*time.Second || first.node == closed || slices.Contains(story.Hot, first.node) {
				t.Errorf("%s was bound to %s after %v; closed was %s, hot %v", first.name, first.node, took, closed, story.Hot)
			}
			t.Logf("figures: another cool node after %v", took)
			cordon(f, false, closed)
			cooled(t, f, o, story)
		})
	}
}

// All nodes that are not hot are cordoned after the key is set, before the replacement is created.
// Evenkeel then has no destination, and within a minute kube-scheduler decides on its own.
//
//e2e:tier all
func TestAllLandingsClose(t *testing.T) {
	const atMost = time.Minute
	for name, component := range variants {
		t.Run(name, func(t *testing.T) {
			f, o, story, policy := quick(t, component)
			d, all := follow(t, f), len(f.PodsByUID(t.Context()))
			came := between(f, o, d, policy, func([]string) {
				cordon(f, true, slices.DeleteFunc(slices.Clone(story.Nodes), func(node string) bool { return slices.Contains(story.Hot, node) })...)
			})
			f.Eventually(atMost+10*time.Second, "all pods to be there and bound", func(ctx context.Context) bool {
				there, bound := f.PodsByUID(ctx), 0
				for _, pod := range there {
					if pod.Spec.NodeName != "" && pod.DeletionTimestamp == nil {
						bound++
					}
				}
				pods := came()
				return bound == all && len(there) == all && !pods[len(pods)-1].bound.IsZero()
			})
			pods := came()
			first, last := pods[0], pods[len(pods)-1]
			took := last.bound.Sub(first.came)
			if took > atMost || !slices.Contains(story.Hot, last.node) {
				t.Errorf("a replacement was bound to %q after %v, want one of %v within %v", last.node, took, story.Hot, atMost)
			}
			t.Logf("figures: bound after %v, the pod that came %d. for it", took, len(pods))
		})
	}
}
