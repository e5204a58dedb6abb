package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	source      = "source"
	destination = "destination"
)

// Each case checks whether the first pod, which runs on source, could be replaced on destination.
func TestEachFilterRefusesForItsReason(t *testing.T) {
	web := selecting("app", "web")
	cases := map[string]struct {
		destination []func(*v1.Node)
		source      []func(*v1.Node)
		pods        []*v1.Pod
		want        Result
	}{
		"a plain pod fits an empty node": {
			pods: []*v1.Pod{aPod("web-0", source)},
			want: Result{OK: true},
		},
		"a cordoned node takes nothing": {
			destination: []func(*v1.Node){func(n *v1.Node) { n.Spec.Unschedulable = true }},
			pods:        []*v1.Pod{aPod("web-0", source)},
			want:        Result{Plugin: "NodeUnschedulable", Reason: "node(s) were unschedulable"},
		},
		"a taint that the pod does not tolerate": {
			destination: []func(*v1.Node){nodeTaint("gpu", v1.TaintEffectNoSchedule)},
			pods:        []*v1.Pod{aPod("web-0", source)},
			want:        Result{Plugin: "TaintToleration", Reason: "node(s) had untolerated taint(s)"},
		},
		"the filters ignore a preference against the node": {
			destination: []func(*v1.Node){nodeTaint("slow", v1.TaintEffectPreferNoSchedule)},
			pods:        []*v1.Pod{aPod("web-0", source)},
			want:        Result{OK: true},
		},
		"nor do nodesync's taints of a hot node count": {
			destination: []func(*v1.Node){
				nodeTaint("evenkeel.io/above-reject", v1.TaintEffectPreferNoSchedule), nodeTaint("evenkeel.io/hot", v1.TaintEffectPreferNoSchedule),
			},
			pods: []*v1.Pod{aPod("web-0", source)},
			want: Result{OK: true},
		},
		"a nodeSelector that only the source satisfies": {
			source: []func(*v1.Node){nodeLabel("pool", "a")},
			pods:   []*v1.Pod{aPod("web-0", source, nodeSelector("pool", "a"))},
			want:   Result{Plugin: "NodeAffinity", Reason: "node(s) didn't match Pod's node affinity/selector"},
		},
		"affinity to other nodes by name": {
			pods: []*v1.Pod{aPod("web-0", source, onNodesNamed(source))},
			want: Result{Plugin: "NodeAffinity", Reason: "the pod may run on named nodes only, and this is not one of them"},
		},
		"affinity to the node by name": {
			pods: []*v1.Pod{aPod("web-0", source, onNodesNamed(source, destination))},
			want: Result{OK: true},
		},
		"a host port in use": {
			pods: []*v1.Pod{aPod("web-0", source, hostPort(80)), aPod("other", destination, hostPort(80))},
			want: Result{Plugin: "NodePorts", Reason: "node(s) didn't have free ports for the requested pod ports"},
		},
		"too little CPU left": {
			pods: []*v1.Pod{aPod("web-0", source, cpu("2")), aPod("other", destination, cpu("2500m"))},
			want: Result{Plugin: "NodeResourcesFit", Reason: "Insufficient cpu"},
		},
		"the node has all the pods it may have": {
			destination: []func(*v1.Node){allocatable(v1.ResourcePods, "1")},
			pods:        []*v1.Pod{aPod("web-0", source), aPod("other", destination)},
			want:        Result{Plugin: "NodeResourcesFit", Reason: "Too many pods"},
		},
		"finished pods take no room": {
			pods: []*v1.Pod{aPod("web-0", source, cpu("2")),
				aPod("done", destination, cpu("4"), func(p *v1.Pod) { p.Status.Phase = v1.PodSucceeded })},
			want: Result{OK: true},
		},
		"an in-tree disk that another pod uses": {
			pods: []*v1.Pod{aPod("web-0", source, awsVolume), aPod("other", destination, awsVolume)},
			want: Result{Plugin: "VolumeRestrictions", Reason: "node(s) had no available disk"},
		},
		"spread: the pod's own zone is its only lawful one": {
			source:      []func(*v1.Node){nodeLabel(zoneKey, "a")},
			destination: []func(*v1.Node){nodeLabel(zoneKey, "b")},
			pods: []*v1.Pod{aPod("web-0", source, podLabel("app", "web"), spread(zoneKey, 1, web)),
				aPod("web-1", destination, podLabel("app", "web"), spread(zoneKey, 1, web))},
			want: Result{Plugin: "PodTopologySpread", Reason: "node(s) didn't match pod topology spread constraints"},
		},
		"spread: the old pod does not count where it was": {
			source:      []func(*v1.Node){nodeLabel(zoneKey, "a")},
			destination: []func(*v1.Node){nodeLabel(zoneKey, "a")},
			pods: []*v1.Pod{aPod("web-0", source, podLabel("app", "web"), spread(zoneKey, 1, web)),
				aPod("web-1", source, podLabel("app", "web"), spread(zoneKey, 1, web))},
			want: Result{OK: true},
		},
		"spread: no label for the topology": {
			pods: []*v1.Pod{aPod("web-0", source, podLabel("app", "web"), spread(zoneKey, 1, web))},
			want: Result{Plugin: "PodTopologySpread", Reason: "node(s) didn't match pod topology spread constraints (missing required label)"},
		},
		"anti-affinity of the pod to one on the node": {
			pods: []*v1.Pod{aPod("web-0", source, podLabel("app", "web"), antiAffinity(v1.LabelHostname, web)),
				aPod("web-1", destination, podLabel("app", "web"))},
			want: Result{Plugin: "InterPodAffinity", Reason: "node(s) didn't match pod anti-affinity rules"},
		},
		"anti-affinity to the pod of one on the node": {
			pods: []*v1.Pod{aPod("web-0", source, podLabel("app", "web")),
				aPod("other", destination, antiAffinity(v1.LabelHostname, web))},
			want: Result{Plugin: "InterPodAffinity", Reason: "node(s) didn't satisfy existing pods anti-affinity rules"},
		},
		"anti-affinity to its own kind in the zone counts the terminating pod": {
			source:      []func(*v1.Node){nodeLabel(zoneKey, "a")},
			destination: []func(*v1.Node){nodeLabel(zoneKey, "a")},
			pods:        []*v1.Pod{aPod("web-0", source, podLabel("app", "web"), antiAffinity(zoneKey, web))},
			want:        Result{Plugin: "InterPodAffinity", Reason: "node(s) didn't match pod anti-affinity rules", Terminating: true},
		},
		"a StatefulSet pod is recreated only when it is gone": {
			source:      []func(*v1.Node){nodeLabel(zoneKey, "a")},
			destination: []func(*v1.Node){nodeLabel(zoneKey, "a")},
			pods:        []*v1.Pod{aPod("db-0", source, statefulSet, podLabel("app", "web"), antiAffinity(zoneKey, web))},
			want:        Result{OK: true},
		},
		"affinity to a pod that stays at the source": {
			pods: []*v1.Pod{aPod("web-0", source, podsAffinity(v1.LabelHostname, selecting("app", "cache"))),
				aPod("cache", source, podLabel("app", "cache"))},
			want: Result{Plugin: "InterPodAffinity", Reason: "node(s) didn't match pod affinity rules"},
		},
		"generic ephemeral volumes: the new claim does not exist yet": {
			pods: []*v1.Pod{aPod("web-0", source, ephemeralVolume)},
			want: Result{Plugin: "VolumeBinding",
				Reason: `waiting for ephemeral volume controller to create the persistentvolumeclaim "web-0-replacement-scratch"`},
		},
		"resource claims without the API for them": {
			pods: []*v1.Pod{aPod("web-0", source, resourceClaim)},
			want: Result{Plugin: "DynamicResources", Reason: reasonNoDynamicResources},
		},
		"a claim that does not exist": {
			pods: []*v1.Pod{aPod("web-0", source, claim("none"))},
			want: Result{Plugin: "VolumeRestrictions", Reason: `persistentvolumeclaim "none" not found`},
		},
	}
	f := offline(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			nodes := []*v1.Node{aNode(source, tc.source...), aNode(destination, tc.destination...)}
			syncAll(t, f, nodes, tc.pods)
			s := f.Begin()
			defer s.Close()
			if diff := cmp.Diff(tc.want, s.Fits(tc.pods[0], destination)); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func ephemeralVolume(p *v1.Pod) {
	p.Spec.Volumes = []v1.Volume{{Name: "scratch", VolumeSource: v1.VolumeSource{
		Ephemeral: &v1.EphemeralVolumeSource{VolumeClaimTemplate: &v1.PersistentVolumeClaimTemplate{}},
	}}}
}

func resourceClaim(p *v1.Pod) {
	name := "gpu"
	p.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &name}}
}

func TestVolumesOfTheClusterDecide(t *testing.T) {
	f := withFilters(t, Config{},
		boundClaim("once-pod", v1.ReadWriteOncePod), volume("once-pod"),
		boundClaim("local", v1.ReadWriteOnce), volume("local", onlyOnNode(source)),
		boundClaim("zonal", v1.ReadWriteOnce), volume("zonal", inZone("a")),
		boundClaim("csi-1", v1.ReadWriteOnce), volume("csi-1", ofDriver("disk.csi")),
		boundClaim("csi-2", v1.ReadWriteOnce), volume("csi-2", ofDriver("disk.csi")),
		driverLimit(destination, "disk.csi", 1),
		unboundClaim("pending"),
	)
	cases := map[string]struct {
		pods []*v1.Pod
		want Result
	}{
		"ReadWriteOncePod: the old pod holds the claim while it terminates": {
			pods: []*v1.Pod{aPod("web-0", source, claim("once-pod"))},
			want: Result{Plugin: "VolumeRestrictions", Terminating: true,
				Reason: "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod"},
		},
		"ReadWriteOncePod: a StatefulSet's pod has let go of it": {
			pods: []*v1.Pod{aPod("db-0", source, statefulSet, claim("once-pod"))},
			want: Result{OK: true},
		},
		"a volume that only the source reaches": {
			pods: []*v1.Pod{aPod("web-0", source, claim("local"))},
			want: Result{Plugin: "VolumeBinding", Reason: "node(s) didn't match PersistentVolume's node affinity"},
		},
		"a volume in another zone": {
			pods: []*v1.Pod{aPod("web-0", source, claim("zonal"))},
			want: Result{Plugin: "VolumeZone", Reason: "node(s) had no available volume zone"},
		},
		"the node is full of the driver's volumes": {
			pods: []*v1.Pod{aPod("web-0", source, claim("csi-1")), aPod("web-1", destination, claim("csi-2"))},
			want: Result{Plugin: "NodeVolumeLimits", Reason: "node(s) exceed max volume count"},
		},
		"room for one volume of the driver": {
			pods: []*v1.Pod{aPod("web-0", source, claim("csi-1"))},
			want: Result{OK: true},
		},
		"a claim without a volume": {
			pods: []*v1.Pod{aPod("web-0", source, claim("pending"))},
			want: Result{Plugin: "VolumeBinding", Reason: "pod has unbound immediate PersistentVolumeClaims"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			nodes := []*v1.Node{aNode(source, nodeLabel(zoneKey, "a")), aNode(destination, nodeLabel(zoneKey, "b"))}
			syncAll(t, f, nodes, tc.pods)
			s := f.Begin()
			defer s.Close()
			if diff := cmp.Diff(tc.want, s.Fits(tc.pods[0], destination)); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func boundClaim(name string, modes ...v1.PersistentVolumeAccessMode) *v1.PersistentVolumeClaim {
	c := unboundClaim(name)
	c.Spec.AccessModes = modes
	c.Spec.VolumeName = "pv-" + name
	c.Annotations = map[string]string{"pv.kubernetes.io/bind-completed": "yes"}
	c.Status.Phase = v1.ClaimBound
	return c
}

func unboundClaim(name string) *v1.PersistentVolumeClaim {
	class := ""
	return &v1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, ResourceVersion: "1"},
		Spec:       v1.PersistentVolumeClaimSpec{StorageClassName: &class},
	}
}

func volume(name string, change ...func(*v1.PersistentVolume)) *v1.PersistentVolume {
	pv := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv-" + name, ResourceVersion: "1"},
		Spec: v1.PersistentVolumeSpec{
			Capacity: v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")},
			ClaimRef: &v1.ObjectReference{Namespace: "default", Name: name},
		},
	}
	for _, c := range change {
		c(pv)
	}
	return pv
}

func onlyOnNode(name string) func(*v1.PersistentVolume) {
	return func(pv *v1.PersistentVolume) {
		pv.Spec.NodeAffinity = &v1.VolumeNodeAffinity{Required: hostIs(name)}
	}
}

func hostIs(name string) *v1.NodeSelector {
	return &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
		MatchExpressions: []v1.NodeSelectorRequirement{
			{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{name}},
		},
	}}}
}

func inZone(zone string) func(*v1.PersistentVolume) {
	return func(pv *v1.PersistentVolume) { pv.Labels = map[string]string{zoneKey: zone} }
}

func ofDriver(driver string) func(*v1.PersistentVolume) {
	return func(pv *v1.PersistentVolume) {
		pv.Spec.CSI = &v1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: pv.Name}
	}
}

func driverLimit(node, driver string, count int32) *storagev1.CSINode {
	return &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: node},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{
			{Name: driver, NodeID: node, Allocatable: &storagev1.VolumeNodeResources{Count: &count}},
		}},
	}
}

func TestAllocatedResourceClaimsDecideWhereServed(t *testing.T) {
	gpu := func(node string) runtime.Object {
		return &resourceapi.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "gpu", UID: "gpu"},
			Status: resourceapi.ResourceClaimStatus{
				Allocation: &resourceapi.AllocationResult{NodeSelector: hostIs(node)},
			},
		}
	}
	cases := map[string]struct {
		allocatedOn string
		want        Result
	}{
		"devices that the destination reaches": {allocatedOn: destination, want: Result{OK: true}},
		"devices of the source": {allocatedOn: source, want: Result{
			Plugin: "DynamicResources", Reason: "resourceclaim not available on the node"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := withFilters(t, Config{DynamicResources: true}, gpu(tc.allocatedOn))
			pod := aPod("web-0", source, resourceClaim)
			syncAll(t, f, []*v1.Node{aNode(source), aNode(destination)}, []*v1.Pod{pod})
			s := f.Begin()
			defer s.Close()
			if diff := cmp.Diff(tc.want, s.Fits(pod, destination)); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNamespaceLabelsDecide(t *testing.T) {
	f := withFilters(t, Config{},
		&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "blue", Labels: map[string]string{"team": "blue"}}},
		&v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "green"}})
	repelled := antiAffinity(v1.LabelHostname, selecting("app", "web"), func(t *v1.PodAffinityTerm) {
		t.NamespaceSelector = selecting("team", "blue")
	})
	web := podLabel("app", "web")
	pods := []*v1.Pod{
		aPod("lonely", source, inNamespace("green"), repelled),
		aPod("blue-web", "with-blue", inNamespace("blue"), web),
		aPod("green-web", "with-green", inNamespace("green"), web),
		aPod("blue-mover", source, inNamespace("blue"), web),
		aPod("other-lonely", "with-lonely", inNamespace("green"), repelled),
	}
	nodes := []*v1.Node{aNode(source), aNode("with-blue"), aNode("with-green"), aNode("with-lonely")}
	syncAll(t, f, nodes, pods)
	s := f.Begin()
	defer s.Close()
	if s.Fits(pods[0], "with-blue").OK {
		t.Error("a pod fits next to one in a namespace that its anti-affinity selects")
	}
	if v := s.Fits(pods[0], "with-green"); !v.OK {
		t.Errorf("a pod does not fit beside one in a namespace that its anti-affinity leaves out: %+v", v)
	}
	if s.Fits(pods[3], "with-lonely").OK {
		t.Error("a pod fits next to one whose anti-affinity selects its namespace")
	}
}
