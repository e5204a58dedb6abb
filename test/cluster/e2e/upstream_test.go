package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// upstreamPolicy is a policy file as upstream's users have it, without a LoadPolicy.
const upstreamPolicy = `
apiVersion: "descheduler/v1alpha2"
kind: "DeschedulerPolicy"
profiles:
  - name: ProfileName
    pluginConfig:
    - name: "DefaultEvictor"
      args:
        priorityThreshold:
          name: "system-cluster-critical"
    - name: "RemoveDuplicates"
      args:
        excludeOwnerKinds:
          - "Job"
    - name: "RemovePodsViolatingNodeTaints"
      args:
        excludedTaints:
        - dedicated=special-user
    plugins:
      balance:
        enabled:
          - "RemoveDuplicates"
      deschedule:
        enabled:
          - "RemovePodsViolatingNodeTaints"
`

// placeForUpstream prepares four nodes for two upstream plugins. The last node is tainted
// afterwards:
//
//	node-0  7 × twin of one ReplicaSet
//	node-3  stray-a, stray-b, stray-c   tolerate nothing
//	        patient                     tolerates the taint
//	        scratch                     has an emptyDir
func (f *fixture) placeForUpstream() (nodes []string) {
	f.T.Helper()
	nodes, err := f.AddNodes(f.T.Context(), 4, cluster.NodeTemplate{})
	if err != nil {
		f.T.Fatal(err)
	}
	little := cluster.Resources{CPU: "50m", Memory: "64Mi"}
	patient := stage.Workload("patient", little, little)
	patient.Adjust = func(template *v1.PodTemplateSpec) {
		template.Spec.Tolerations = []v1.Toleration{{Key: "maintenance", Operator: v1.TolerationOpExists}}
	}
	scratch := stage.Workload("scratch", little, little)
	scratch.Adjust = func(template *v1.PodTemplateSpec) {
		template.Spec.Volumes = []v1.Volume{{Name: "tmp", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}}}
	}
	placements := []cluster.Placement{
		{Workload: stage.Workload("twin", little, little), On: stage.On(7, nodes[0])},
		{Workload: patient, On: stage.On(1, nodes[3])},
		{Workload: scratch, On: stage.On(1, nodes[3])},
	}
	for _, name := range []string{"stray-a", "stray-b", "stray-c"} {
		placements = append(placements, cluster.Placement{Workload: stage.Workload(name, little, little), On: stage.On(1, nodes[3])})
	}
	if err := f.Cluster.Place(f.T.Context(), placements...); err != nil { // usage is irrelevant here
		f.T.Fatal(err)
	}
	f.taint(nodes[3], noNewPods)
	return nodes
}

// An upstream policy file takes effect unchanged and at once, without reading usage, and evicts
// what upstream's rules require:
//
//   - RemovePodsViolatingNodeTaints takes every pod off a node whose NoSchedule taints it does not tolerate. DefaultEvictor
//     protects pods with local storage.
//   - RemoveDuplicates spreads the pods of one owner over the nodes on which they could run, which are those without the
//     taint: seven pods on three nodes allow at most three on each, so four of the seven leave node-0.
func TestUpstreamPolicyEvictsWhatUpstreamWould(t *testing.T) {
	f := newFixture(t)
	nodes := f.placeForUpstream()
	homes, mark := f.podHomes(), f.Mark()
	f.endsWell(f.Start("run", "--policy-config-file", f.Policy(upstreamPolicy), "--metrics-address", "0"), 20*time.Second)

	requests, err := f.Audit(mark)
	if err != nil {
		t.Fatal(err)
	}
	var strays []string
	twins := 0
	evicted := requests.To("create", "pods/eviction").Where(func(r cluster.Request) bool { return r.Code == 201 })
	for _, r := range evicted {
		pod := r.Namespace + "/" + r.Name
		if strings.HasPrefix(r.Name, "twin-") && homes[pod] == nodes[0] {
			twins++
			continue
		}
		strays = append(strays, pod)
	}
	var want []string
	for pod := range homes {
		if strings.HasPrefix(pod, "shop/stray-") {
			want = append(want, pod)
		}
	}
	slices.Sort(strays)
	slices.Sort(want)
	if diff := cmp.Diff(want, strays); diff != "" {
		t.Errorf("evicted besides the twins of node-0 (-want +got):\n%s", diff)
	}
	if twins != 4 {
		t.Errorf("%d twins evicted, want 4 of 7", twins)
	}
	f.Eventually(30*time.Second, "no stray pod on the tainted node", func(ctx context.Context) bool {
		return !slices.ContainsFunc(f.Pods(ctx, "stray"), func(pod v1.Pod) bool { return pod.Spec.NodeName == nodes[3] || pod.Spec.NodeName == "" })
	})
	f.checkRights(mark)
}
