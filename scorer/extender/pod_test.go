package extender

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

const mebi = 1 << 20

// podCases are pods as kube-scheduler sends them, with what must be read from them.
var podCases = map[string]struct {
	pod  string
	want Pod
}{
	"best effort: nothing requested is not zero requested": {
		pod:  `{"metadata":{"name":"p","namespace":"n","uid":"u"},"spec":{"containers":[{"name":"c"}]}}`,
		want: Pod{Namespace: "n", Name: "p", UID: "u", CPUMilli: Absent, MemoryBytes: Absent},
	},
	"an explicit zero and a null are requests": {
		pod:  `{"spec":{"containers":[{"resources":{"requests":{"cpu":"0","memory":null}}}]}}`,
		want: Pod{},
	},
	"owner: the controller among several": {
		pod: `{"metadata":{"labels":{"pod-template-hash":"h","controller-revision-hash":"r"},"ownerReferences":[` +
			`{"uid":"1","kind":"Other","name":"x"},{"uid":"2","kind":"ReplicaSet","name":"rs","controller":true},` +
			`{"uid":"3","kind":"Late","controller":true}]}}`,
		want: Pod{OwnerUID: "2", OwnerKind: "ReplicaSet", OwnerName: "rs", TemplateHash: "h", CPUMilli: Absent, MemoryBytes: Absent},
	},
	"owner: a StatefulSet's pods are told apart by revision": {
		pod: `{"metadata":{"ownerReferences":[{"controller":true,"kind":"StatefulSet","name":"s","uid":"u"}],` +
			`"labels":{"controller-revision-hash":"r","pod-template-hash":"h"}}}`,
		want: Pod{OwnerUID: "u", OwnerKind: "StatefulSet", OwnerName: "s", TemplateHash: "r", CPUMilli: Absent, MemoryBytes: Absent},
	},
	"owner: escaped names, which are kept apart until all are read": {
		pod: `{"metadata":{"ownerReferences":[{"uid":"\u0061-1","kind":"Replica\u0053et","name":"b\u002d2","controller":true},` +
			`{"uid":"\u0078","kind":"\u0079","name":"\u007a"}]}}`,
		want: Pod{OwnerUID: "a-1", OwnerKind: "ReplicaSet", OwnerName: "b-2", CPUMilli: Absent, MemoryBytes: Absent},
	},
	"requests: containers and sidecars add up, init containers need the larger, overhead comes on top": {
		// CPU: containers 300m + sidecar 100m = 400m; init after the sidecar 900m + 100m = 1000m; +
		// 50m overhead. Memory: 64Mi + 32Mi = 96Mi; init 16Mi + 32Mi; no overhead.
		pod: `{"spec":{"initContainers":[{"resources":{"requests":{"cpu":"100m","memory":"32Mi"}},"restartPolicy":"Always"},` +
			`{"resources":{"requests":{"cpu":"900m","memory":"16Mi"}}}],"containers":[{"resources":{"requests":{"cpu":"0.2"}}},` +
			`{"resources":{"requests":{"cpu":"100m","memory":"64Mi"},"limits":{"cpu":2}}}],"overhead":{"cpu":"50m"}}}`,
		want: Pod{CPUMilli: 1050, MemoryBytes: 96 * mebi, LimitCPUMilli: 2050},
	},
	"requests: an init container before the sidecar runs alone": {
		pod: `{"spec":{"initContainers":[{"resources":{"requests":{"cpu":"450m"}}},` +
			`{"restartPolicy":"Always","resources":{"requests":{"cpu":"100m"}}}],"containers":[{"resources":{"requests":{"cpu":"300m"}}}]}}`,
		want: Pod{CPUMilli: 450, MemoryBytes: Absent},
	},
	"requests: pod level wins over containers": {
		pod: `{"spec":{"resources":{"requests":{"cpu":"1"},"limits":{"memory":"1Gi"}},` +
			`"containers":[{"resources":{"requests":{"cpu":"3","memory":"1Mi"},"limits":{"cpu":"4"}}}]}}`,
		want: Pod{CPUMilli: 1000, MemoryBytes: mebi, LimitCPUMilli: 4000, LimitMemoryBytes: 1024 * mebi},
	},
	"requests: parts of a milli add up before they are rounded up": {
		// 0.6m + 0.6m = 1.2m, rounded up to 2m once, not 1m + 1m
		pod: `{"spec":{"containers":[{"resources":{"requests":{"cpu":"600u","memory":"1500m"}}},` +
			`{"resources":{"requests":{"cpu":"600u"}}}]}}`,
		want: Pod{CPUMilli: 2, MemoryBytes: 2},
	},
	"requests: exponents, plain numbers and huge ones": {
		pod:  `{"spec":{"containers":[{"resources":{"requests":{"cpu":1e3,"memory":"4Pi"}}},{"resources":{"requests":{"cpu":0.5,"memory":"2Pi"}}}]}}`,
		want: Pod{CPUMilli: 1000500, MemoryBytes: 6 << 50},
	},
	"strings: escapes, surrogates and invalid UTF-8 read as encoding/json reads them": {
		pod:  `{"metadata":{"name":"a\u0062\"\ud83d\ude00\ud800","namespace":"` + "\xff\xc3\xa9" + `","\u0075id":"u"}}`,
		want: Pod{Name: "ab\"😀\ufffd", Namespace: "\ufffdé", UID: "u", CPUMilli: Absent, MemoryBytes: Absent},
	},
	"keys: upper and lower case alike, Kelvin sign and long s included": {
		pod:  `{"METADATA":{"Name":"p"},"\u017fpec":{"volumeſ":[{"EPHEMERAL":{}}]}}`,
		want: Pod{Name: "p", HasClaims: true, CPUMilli: Absent, MemoryBytes: Absent},
	},
	"volumes: a claim": {
		pod: `{"spec":{"volumes":[{"name":"a","configMap":{"name":"c"}},null,{"name":"b","persistentVolumeClaim":{"claimName":"c"}},` +
			`{"name":"d","emptyDir":{}}]}}`,
		want: Pod{HasClaims: true, CPUMilli: Absent, MemoryBytes: Absent},
	},
	"volumes: a claim of the pod's own": {
		pod:  `{"spec":{"volumes":[{"name":"a","ephemeral":{"volumeClaimTemplate":{"spec":{}}}}]}}`,
		want: Pod{HasClaims: true, CPUMilli: Absent, MemoryBytes: Absent},
	},
	"volumes: none by a claim": {
		pod:  `{"spec":{"volumes":[{"name":"a","persistentVolumeClaim":null},{"name":"persistentVolumeClaim","emptyDir":{}}]}}`,
		want: Pod{CPUMilli: Absent, MemoryBytes: Absent},
	},
	"nulls everywhere": {
		pod: `{"metadata":{"name":null,"labels":null,"ownerReferences":[null,{"controller":null}]},"spec":{"containers":[null,` +
			`{"resources":null},{"resources":{"requests":null}}],"initContainers":null,"overhead":null,"resources":null},"status":null}`,
		want: Pod{CPUMilli: Absent, MemoryBytes: Absent},
	},
	"labels: the last of a repeated key counts, as in a map": {
		pod:  `{"metadata":{"labels":{"pod-template-hash":"a","x":"y","pod-template-hash":"b"}}}`,
		want: Pod{TemplateHash: "b", CPUMilli: Absent, MemoryBytes: Absent},
	},
}

func TestPod(t *testing.T) {
	for name, tc := range podCases {
		t.Run(name, func(t *testing.T) {
			body := []byte(`{"Pod":` + tc.pod + `,"NodeNames":["a"]}`)
			var req request
			if err := req.decode(body, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, req.pod); diff != "" {
				t.Errorf("pod (-want +got):\n%s", diff)
			}
			var args extenderv1.ExtenderArgs
			if err := json.Unmarshal(body, &args); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(podOf(args.Pod), req.pod); diff != "" {
				t.Errorf("against Kubernetes' own reading (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRealisticPod verifies that a pod of a Deployment is read correctly, and that reading it
// allocates only a few strings.
func TestRealisticPod(t *testing.T) {
	pod := realisticPod()
	body := namesRequest(t, pod, nodeNames(1000)...)
	var req request
	allocs := testing.AllocsPerRun(10, func() {
		if err := req.decode(body, nil); err != nil {
			t.Fatal(err)
		}
	})
	if diff := cmp.Diff(podOf(pod), req.pod); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(nodeNames(1000), decodedNames(&req)); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	// one for each string of Pod that is set
	if allocs > 8 {
		t.Errorf("decoding made %.0f allocations, want at most 8", allocs)
	}
}
