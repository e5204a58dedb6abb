package main

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// fleet is the served cluster. Its objects are made on request, and always identically.
type fleet struct {
	nodes, podsPerNode int
	// updates is the number of pods that change per second, churn the percentage of pods
	// that are replaced per minute.
	updates   int
	churn     float64
	watchList bool
	// births counts how often each pod was replaced; nil if pods never are.
	births []atomic.Int32
}

func (f *fleet) pods() int { return f.nodes * f.podsPerNode }

func nodeName(i int) string {
	return fmt.Sprintf("ip-10-%d-%d-%d.eu-central-1.compute.internal", i>>16, i>>8&255, i&255)
}

func address(i int) string { return fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255) }

// workload returns the Deployment of pod i. There are as many Deployments as nodes.
func (f *fleet) workload(i int) int { return (i/f.podsPerNode + i%f.podsPerNode) % f.nodes }

// namespaces is the number of namespaces, one per team.
const namespaces = 200

func (f *fleet) namespace(i int) string { return fmt.Sprintf("team-%03d", f.workload(i)%namespaces) }

// indexDigits is the number of hexadecimal digits with which a pod's name ends.
const indexDigits = 5

func (f *fleet) podName(i int) string {
	return fmt.Sprintf("%s-%c%0*x", f.replicaSet(i), 'a'+f.birth(i)%26, indexDigits, i)
}

// bear replaces pod i with a new one.
func (f *fleet) bear(i int) { f.births[i].Add(1) }

// birth returns how often pod i was replaced.
func (f *fleet) birth(i int) int {
	if f.births == nil {
		return 0
	}
	return int(f.births[i].Load())
}

func (f *fleet) podUID(i int) types.UID {
	return types.UID(fmt.Sprintf("%08x-4d5e-4f70-8192-%012x", f.birth(i)<<8+5, i))
}

func (f *fleet) replicaSet(i int) string { return fmt.Sprintf("service-%05d-6c9f4d7b8", f.workload(i)) }

// epoch returns the creation time of all objects.
func epoch() metav1.Time {
	return metav1.NewTime(time.Now().Add(-48 * time.Hour).Truncate(time.Second))
}

func quantities(of ...string) v1.ResourceList {
	list := v1.ResourceList{}
	for i := 0; i < len(of); i += 2 {
		list[v1.ResourceName(of[i])] = resource.MustParse(of[i+1])
	}
	return list
}

// node makes a node like those of a cloud provider.
func node(i, version int) *v1.Node {
	return &v1.Node{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: nodeMeta(i, version),
		Spec: v1.NodeSpec{
			PodCIDR: fmt.Sprintf("100.%d.%d.0/24", i>>8&255, i&255), PodCIDRs: []string{fmt.Sprintf("100.%d.%d.0/24", i>>8&255, i&255)},
			ProviderID: fmt.Sprintf("aws:///eu-central-1a/i-%017x", i),
		},
		Status: v1.NodeStatus{
			Capacity:    quantities("cpu", "32", "memory", "130963936Ki", "pods", "110", "ephemeral-storage", "104845292Ki", "hugepages-2Mi", "0"),
			Allocatable: quantities("cpu", "31800m", "memory", "128000000Ki", "pods", "110", "ephemeral-storage", "95551679124", "hugepages-2Mi", "0"),
			Conditions:  nodeConditions(version),
			Addresses: []v1.NodeAddress{
				{Type: v1.NodeInternalIP, Address: address(i)}, {Type: v1.NodeHostName, Address: nodeName(i)},
				{Type: v1.NodeInternalDNS, Address: nodeName(i)},
			},
			DaemonEndpoints: v1.NodeDaemonEndpoints{KubeletEndpoint: v1.DaemonEndpoint{Port: 10250}},
			NodeInfo: v1.NodeSystemInfo{
				MachineID: fmt.Sprintf("ec2%029x", i), SystemUUID: uid("system", i), BootID: uid("boot", i), KernelVersion: "6.12.22-32.101.amzn2023.x86_64",
				OSImage: "Amazon Linux 2023.7.20250414", ContainerRuntimeVersion: "containerd://1.7.27", KubeletVersion: "v1.36.3",
				OperatingSystem: "linux", Architecture: "amd64",
			},
			Images: images(),
		},
	}
}

func nodeMeta(i, version int) metav1.ObjectMeta {
	zone := fmt.Sprintf("eu-central-1%c", 'a'+i%3)
	return metav1.ObjectMeta{
		Name: nodeName(i), UID: types.UID(uid("node", i)), ResourceVersion: strconv.Itoa(version), CreationTimestamp: epoch(),
		Labels: map[string]string{
			"beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/instance-type": "m6i.8xlarge", "beta.kubernetes.io/os": "linux",
			"eks.amazonaws.com/capacityType": "ON_DEMAND", "eks.amazonaws.com/nodegroup": "general", "eks.amazonaws.com/nodegroup-image": "ami-0123456789abcdef0",
			"failure-domain.beta.kubernetes.io/region": "eu-central-1", "failure-domain.beta.kubernetes.io/zone": zone,
			"k8s.io/cloud-provider-aws": "0553d3b0a7d9c8e1f2", "kubernetes.io/arch": "amd64", "kubernetes.io/hostname": nodeName(i), "kubernetes.io/os": "linux",
			"node.kubernetes.io/instance-type": "m6i.8xlarge", "topology.kubernetes.io/region": "eu-central-1", "topology.kubernetes.io/zone": zone,
		},
		Annotations: map[string]string{
			"alpha.kubernetes.io/provided-node-ip": address(i), "csi.volume.kubernetes.io/nodeid": fmt.Sprintf(`{"ebs.csi.aws.com":"i-%017x"}`, i),
			"node.alpha.kubernetes.io/ttl": "300", "volumes.kubernetes.io/controller-managed-attach-detach": "true",
		},
		ManagedFields: managed("kube-controller-manager", "aws-cloud-controller-manager", "kubelet"),
	}
}

func nodeConditions(version int) []v1.NodeCondition {
	heartbeat := metav1.NewTime(epoch().Add(time.Duration(version) * time.Millisecond))
	condition := func(kind v1.NodeConditionType, status v1.ConditionStatus, reason, message string) v1.NodeCondition {
		return v1.NodeCondition{Type: kind, Status: status, LastHeartbeatTime: heartbeat, LastTransitionTime: epoch(), Reason: reason, Message: message}
	}
	return []v1.NodeCondition{
		condition(v1.NodeMemoryPressure, v1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
		condition(v1.NodeDiskPressure, v1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
		condition(v1.NodePIDPressure, v1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
		condition(v1.NodeReady, v1.ConditionTrue, "KubeletReady", "kubelet is posting ready status"),
	}
}

// images returns as many images as a kubelet reports.
func images() []v1.ContainerImage {
	list := make([]v1.ContainerImage, 50)
	for i := range list {
		name := fmt.Sprintf("123456789012.dkr.ecr.eu-central-1.amazonaws.com/platform/service-%02d", i)
		list[i] = v1.ContainerImage{Names: []string{fmt.Sprintf("%s@sha256:%064x", name, i), name + ":v1.42.0"}, SizeBytes: 123456789 + int64(i)}
	}
	return list
}

func uid(of string, i int) string { return fmt.Sprintf("%08x-4d5e-4f70-8192-%012x", len(of), i) }

// managed returns an object's managedFields entries, one for each writer.
func managed(managers ...string) []metav1.ManagedFieldsEntry {
	at := epoch()
	entries := make([]metav1.ManagedFieldsEntry, len(managers))
	for i, manager := range managers {
		entries[i] = metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(written),
		}
	}
	return entries
}

// written is one writer's entry, of realistic length.
const written = `{"f:metadata":{"f:annotations":{".":{},"f:checksum/config":{},"f:prometheus.io/port":{},"f:prometheus.io/scrape":{}},` +
	`"f:generateName":{},"f:labels":{".":{},"f:app.kubernetes.io/component":{},"f:app.kubernetes.io/instance":{},"f:app.kubernetes.io/name":{},` +
	`"f:pod-template-hash":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"5e1c2a3b-4d5e-4f70-8192-000000000000\"}":{}}},"f:spec":{"f:affinity":{},` +
	`"f:containers":{"k:{\"name\":\"main\"}":{".":{},"f:env":{".":{},"k:{\"name\":\"LOG_LEVEL\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},` +
	`"f:imagePullPolicy":{},"f:livenessProbe":{".":{},"f:failureThreshold":{},"f:httpGet":{".":{},"f:path":{},"f:port":{},"f:scheme":{}},` +
	`"f:periodSeconds":{},"f:successThreshold":{},"f:timeoutSeconds":{}},"f:name":{},"f:ports":{".":{},"k:{\"containerPort\":8080,\"protocol\":\"TCP\"}":` +
	`{".":{},"f:containerPort":{},"f:name":{},"f:protocol":{}}},"f:resources":{".":{},"f:limits":{".":{},"f:cpu":{},"f:memory":{}},"f:requests":{".":{},` +
	`"f:cpu":{},"f:memory":{}}},"f:terminationMessagePath":{},"f:terminationMessagePolicy":{}}},"f:dnsPolicy":{},"f:restartPolicy":{}}}`
