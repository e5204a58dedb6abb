package evictor

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/placement"
)

// BenchmarkChecks measures the checks just before each call, and those of each pod during planning,
// in a cluster of 5,000 nodes with 30 pods each. The owners have 10 pods each, or a single owner
// has all pods.
func BenchmarkChecks(b *testing.B) {
	const nodes, perNode = 5000, 30
	for _, owners := range []int{nodes * perNode / 10, 1} {
		e, pods := crowdedEstate(b, nodes, perNode, owners)
		if session, err := e.watched.Session(b.Context()); err == nil {
			session.Close() // the first session reads everything
		}
		b.Run(fmt.Sprintf("landing/owners=%d", owners), func(b *testing.B) {
			for b.Loop() {
				session, err := e.watched.Session(b.Context())
				if err != nil {
					b.Fatal(err)
				}
				if result := session.Fits(pods[0], "node-04999"); !result.OK {
					b.Fatal(result)
				}
				session.Close()
			}
		})
		b.Run(fmt.Sprintf("availability/owners=%d", owners), func(b *testing.B) {
			for b.Loop() {
				_ = e.tallyOf(pods[0])
			}
		})
		b.Run(fmt.Sprintf("plan of 3500 pods/owners=%d", owners), func(b *testing.B) {
			for b.Loop() {
				e.tallies = nil
				for _, pod := range pods[:3500] {
					if reason := e.Refuse(pod); reason != "" {
						b.Fatal(reason)
					}
				}
			}
		})
	}
}

func crowdedEstate(b *testing.B, nodes, perNode, owners int) (*estate, []*v1.Pod) {
	b.Helper()
	filters, err := placement.New(b.Context(), placement.Config{})
	if err != nil {
		b.Fatal(err)
	}
	var pods []*v1.Pod
	for i := range nodes * perNode {
		owner := types.UID(fmt.Sprint("rs-", i%owners))
		pod := replica(types.UID(fmt.Sprint("pod-", i)))
		pod.OwnerReferences[0].UID, pod.OwnerReferences[0].Name, pod.ResourceVersion = owner, string(owner), "1"
		pod.Spec.NodeName = fmt.Sprintf("node-%05d", i%nodes)
		pods = append(pods, pod)
	}
	e := newEstate(b, pods...)
	e.watched.follower = filters.Follow(objects{e.watched})
	for i := range owners {
		e.add(b, replicaSet(int32(nodes*perNode/owners), func(rs *appsv1.ReplicaSet) {
			rs.Name = fmt.Sprint("rs-", i)
			rs.UID = types.UID(rs.Name)
		}))
	}
	for i := range nodes {
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%05d", i), ResourceVersion: "1"}, Status: v1.NodeStatus{Allocatable: v1.ResourceList{
			v1.ResourceCPU: resource.MustParse("10"), v1.ResourceMemory: resource.MustParse("100Gi"), v1.ResourcePods: resource.MustParse("110"),
		}}}
		if err := e.factory.Core().V1().Nodes().Informer().GetIndexer().Add(node); err != nil {
			b.Fatal(err)
		}
	}
	return e, pods
}
