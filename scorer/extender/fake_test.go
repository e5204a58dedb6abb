package extender

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// fakeJudge knows some nodes, and for each the answer. It is its own Round.
type fakeJudge struct {
	names   []string
	index   *Index
	rejects []Reject
	scores  []int8

	// before, if set, is called first in Filter and Prioritize.
	before func(pod *Pod)
}

var (
	_ Judge   = (*fakeJudge)(nil)
	_ Round   = (*fakeJudge)(nil)
	_ Indexed = indexedJudge{}
)

// indexedJudge is a fakeJudge that shows its index.
type indexedJudge struct{ *fakeJudge }

func (j indexedJudge) Begin() Round  { return j }
func (j indexedJudge) Index() *Index { return j.index }

func newFakeJudge(names ...string) *fakeJudge {
	return &fakeJudge{
		names:   names,
		index:   NewIndex(names),
		rejects: make([]Reject, len(names)),
		scores:  make([]int8, len(names)),
	}
}

func (j *fakeJudge) reject(reason Reject, names ...string) *fakeJudge {
	for _, name := range names {
		j.rejects[slices.Index(j.names, name)] = reason
	}
	return j
}

func (j *fakeJudge) score(points int8, names ...string) *fakeJudge {
	for _, name := range names {
		j.scores[slices.Index(j.names, name)] = points
	}
	return j
}

func (j *fakeJudge) Begin() Round { return j }

func (j *fakeJudge) Node(name []byte) int { return j.index.Find(name) }

func (j *fakeJudge) Filter(pod *Pod, nodes []int32, reasons []Reject) {
	if j.before != nil {
		j.before(pod)
	}
	for i, node := range nodes {
		if node < 0 {
			reasons[i] = RejectHot // must be undone by the caller
			continue
		}
		reasons[i] = j.rejects[node]
	}
}

func (j *fakeJudge) Prioritize(pod *Pod, nodes []int32, scores []int8) {
	if j.before != nil {
		j.before(pod)
	}
	for i, node := range nodes {
		scores[i] = 5
		if node >= 0 {
			scores[i] = j.scores[node]
		}
	}
}

// nodeNames returns count names as cloud providers give them.
func nodeNames(count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("ip-10-%d-%d-%d.compute", i/65536, i/256%256, i%256)
	}
	return names
}

// realisticPod is a pod of about 6 kB: a Deployment's, with the managed fields,
// volumes, probes and environment that pods carry.
func realisticPod() *v1.Pod {
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

func resourceList(cpu, memory string) v1.ResourceList {
	return v1.ResourceList{
		v1.ResourceCPU: resource.MustParse(cpu), v1.ResourceMemory: resource.MustParse(memory),
	}
}

// namesRequest is the body of a nodeCacheCapable request.
func namesRequest(t testing.TB, pod *v1.Pod, names ...string) []byte {
	t.Helper()
	return marshal(t, extenderv1.ExtenderArgs{Pod: pod, NodeNames: &names})
}

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	body, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return body
}
