package testkit

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// NodeNames returns count names like those of cloud providers.
func NodeNames(count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("ip-10-%d-%d-%d.compute", i/65536, i/256%256, i%256)
	}
	return names
}

// Pod returns a pod of about 6 kB: a Deployment's pod with typical managed fields,
// volumes, probes and environment variables.
func Pod() *v1.Pod {
	yes := true
	env := make([]v1.EnvVar, 16)
	for i := range env {
		env[i] = v1.EnvVar{Name: fmt.Sprintf("SETTING_%02d", i), Value: fmt.Sprintf("https://service-%02d.shop.svc.cluster.local:8443/api", i)}
	}
	container := func(name string) v1.Container {
		return v1.Container{
			Name: name, Image: "registry.example.com/shop/" + name + ":v1.42.7", Env: env,
			Ports: []v1.ContainerPort{{Name: "http", ContainerPort: 8080, Protocol: v1.ProtocolTCP}},
			Resources: v1.ResourceRequirements{
				Requests: resourceList("250m", "512Mi"), Limits: resourceList("1", "1Gi"),
			},
			VolumeMounts:             []v1.VolumeMount{{Name: "token", MountPath: "/var/run/secrets/kubernetes.io/serviceaccount", ReadOnly: true}},
			LivenessProbe:            &v1.Probe{PeriodSeconds: 10, TimeoutSeconds: 1, FailureThreshold: 3},
			TerminationMessagePath:   "/dev/termination-log",
			TerminationMessagePolicy: v1.TerminationMessageReadFile,
			ImagePullPolicy:          v1.PullIfNotPresent,
		}
	}
	managed := `{"f:metadata":{"f:labels":{".":{},"f:app":{},"f:pod-template-hash":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:env":{".":{},"k:{\"name\":\"SETTING_00\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:resources":{".":{},"f:limits":{".":{},"f:cpu":{},"f:memory":{}}}}}}}`
	return &v1.Pod{
		TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "web-5d4f8c7b9-x2x7k", GenerateName: "web-5d4f8c7b9-", Namespace: "shop",
			UID:    types.UID("0b8d9f0e-2c44-4f6e-9d0c-5f6a7b8c9d0e"),
			Labels: map[string]string{"app": "web", "pod-template-hash": "5d4f8c7b9"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-5d4f8c7b9",
				UID: types.UID("7a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"), Controller: &yes, BlockOwnerDeletion: &yes,
			}},
			ManagedFields: []metav1.ManagedFieldsEntry{{
				Manager: "kube-controller-manager", Operation: metav1.ManagedFieldsOperationUpdate,
				APIVersion: "v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(managed),
			}},
		},
		Spec: v1.PodSpec{
			SchedulerName:      v1.DefaultSchedulerName,
			ServiceAccountName: "web",
			InitContainers:     []v1.Container{container("migrate")},
			Containers:         []v1.Container{container("web"), container("proxy")},
			Tolerations: []v1.Toleration{
				{Key: v1.TaintNodeNotReady, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute},
			},
		},
		Status: v1.PodStatus{Phase: v1.PodPending, QOSClass: v1.PodQOSBurstable},
	}
}

// Node returns a node of about 4 kB.
func Node(name string) v1.Node {
	n := v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}, Annotations: map[string]string{}},
		Status:     v1.NodeStatus{Capacity: resourceList("32", "128Gi"), Allocatable: resourceList("31", "120Gi")},
	}
	for i := range 12 {
		n.Labels[fmt.Sprintf("node.example.com/label-%02d", i)] = "some-value"
		n.Status.Images = append(n.Status.Images, v1.ContainerImage{
			Names:     []string{fmt.Sprintf("registry.example.com/image-%02d@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", i)},
			SizeBytes: 123456789,
		})
	}
	for _, kind := range []v1.NodeConditionType{v1.NodeReady, v1.NodeMemoryPressure, v1.NodeDiskPressure, v1.NodePIDPressure} {
		n.Status.Conditions = append(n.Status.Conditions, v1.NodeCondition{
			Type: kind, Status: v1.ConditionFalse, Reason: "KubeletHasSufficientResources", Message: "kubelet has what it needs",
		})
	}
	return n
}

func resourceList(cpu, memory string) v1.ResourceList {
	return v1.ResourceList{
		v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory),
	}
}
