package main

import (
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// revisions is the number of ReplicaSets per Deployment; all but the first are
// old and have no pods.
const revisions = 3

func namespace(i, version int) *v1.Namespace {
	return &v1.Namespace{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("team-%03d", i), UID: types.UID(uid("namespaces", i)), ResourceVersion: strconv.Itoa(version), CreationTimestamp: epoch(),
		},
		Status: v1.NamespaceStatus{Phase: v1.NamespaceActive},
	}
}

// revision makes ReplicaSet i with the template of its pods.
func (f *fleet) revision(i, version int) *appsv1.ReplicaSet {
	workload, old := i/revisions, i%revisions
	pod := f.pod(workload*f.podsPerNode, version) // the first pod of node n belongs to workload n
	meta := metav1.ObjectMeta{
		Name: pod.OwnerReferences[0].Name, Namespace: pod.Namespace, UID: pod.OwnerReferences[0].UID, Generation: 2,
		ResourceVersion: strconv.Itoa(version), CreationTimestamp: epoch(), Labels: pod.Labels, ManagedFields: managed("kube-controller-manager"),
		Annotations: map[string]string{
			"deployment.kubernetes.io/desired-replicas": strconv.Itoa(f.podsPerNode), "deployment.kubernetes.io/revision": strconv.Itoa(revisions - old),
		},
	}
	wanted := int32(f.podsPerNode) // far less than 2^31
	if old > 0 {
		meta.Name, meta.UID, wanted = fmt.Sprintf("%s%d", meta.Name, old), types.UID(uid("revision", i)), 0
	}
	pod.Spec.NodeName = ""
	return &appsv1.ReplicaSet{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSet"}, ObjectMeta: meta,
		Spec: appsv1.ReplicaSetSpec{
			Replicas: &wanted, Selector: &metav1.LabelSelector{MatchLabels: pod.Labels},
			Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}, Spec: pod.Spec},
		},
		Status: appsv1.ReplicaSetStatus{Replicas: wanted, ReadyReplicas: wanted, AvailableReplicas: wanted, ObservedGeneration: 2},
	}
}

// budget makes the PodDisruptionBudget of a workload.
func (f *fleet) budget(i, version int) *policyv1.PodDisruptionBudget {
	pod, share := f.pod(i*f.podsPerNode, version), intstr.FromString("10%")
	all := int32(f.podsPerNode) // far less than 2^31
	return &policyv1.PodDisruptionBudget{
		TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"},
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("service-%05d", i), Namespace: pod.Namespace, UID: types.UID(uid("disruption", i)), Generation: 1,
			ResourceVersion: strconv.Itoa(version), CreationTimestamp: epoch(), ManagedFields: managed("kube-controller-manager"),
		},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &share, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": pod.Labels["app.kubernetes.io/name"]}},
		},
		Status: policyv1.PodDisruptionBudgetStatus{
			ObservedGeneration: 1, CurrentHealthy: all, DesiredHealthy: all - all/10, ExpectedPods: all, DisruptionsAllowed: all / 10,
		},
	}
}

func csiNode(i, version int) *storagev1.CSINode {
	volumes := int32(25)
	return &storagev1.CSINode{
		TypeMeta: metav1.TypeMeta{APIVersion: "storage.k8s.io/v1", Kind: "CSINode"},
		ObjectMeta: metav1.ObjectMeta{
			Name: nodeName(i), UID: types.UID(uid("csinode", i)), ResourceVersion: strconv.Itoa(version), CreationTimestamp: epoch(),
			ManagedFields: managed("kubelet"),
		},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
			Name: "ebs.csi.aws.com", NodeID: fmt.Sprintf("i-%017x", i), TopologyKeys: []string{"topology.kubernetes.io/zone"},
			Allocatable: &storagev1.VolumeNodeResources{Count: &volumes},
		}}},
	}
}
