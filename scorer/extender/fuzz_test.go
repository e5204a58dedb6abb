package extender

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/evenkeel/evenkeel/internal/quantity"
)

// FuzzDecode verifies that everything that encoding/json rejects as JSON is rejected. From
// everything that it accepts as a request, the same names, pod identity and amounts must be read.
// Repeated keys and null names are rejected on purpose.
func FuzzDecode(f *testing.F) {
	f.Add(namesRequest(f, realisticPod(), "a", "b"))
	f.Add(marshal(f, extenderv1.ExtenderArgs{Pod: realisticPod(), Nodes: &v1.NodeList{Items: []v1.Node{realisticNode("a")}}}))
	for _, tc := range podCases {
		f.Add([]byte(`{"Pod":` + tc.pod + `,"NodeNames":["a"]}`))
	}
	for _, tc := range hostileBodies {
		if len(tc.body) < 1<<10 {
			f.Add([]byte(tc.body))
		}
	}
	guide := NewIndex([]string{"a", "b", "c"})
	f.Fuzz(func(t *testing.T, body []byte) {
		var got request
		err := got.decode(body, guide)
		if !json.Valid(body) {
			if err == nil {
				t.Fatalf("accepted invalid JSON %q", body)
			}
			return
		}
		if errors.Is(err, errRepeated) || quantity.IsBounds(err) || longExponent.Match(body) {
			return
		}
		var want extenderv1.ExtenderArgs
		if json.Unmarshal(body, &want) == nil {
			checkDecoded(t, body, want, &got, err)
		}
		if err == nil {
			checkGuided(t, body, &got)
		}
	})
}

// checkGuided verifies that the order learned from the same request does not change the result.
func checkGuided(t *testing.T, body []byte, want *request) {
	t.Helper()
	names := make([]string, len(want.names))
	for i := range names {
		names[i] = string(want.nodeName(i))
	}
	var got request
	index := NewIndex(names)
	for range 2 {
		if err := got.decode(body, index); err != nil {
			t.Fatalf("refused %q once its names were known: %v", body, err)
		}
	}
	if !slices.Equal(got.names, want.names) {
		t.Fatalf("names of %q are at %v, want %v", body, got.names, want.names)
	}
	for i, node := range got.found {
		if node != notLooked && node != index.Find(got.nodeName(i)) {
			t.Fatalf("name %d of %q is node %d, want %d", i, body, node, index.Find(got.nodeName(i)))
		}
	}
}

// checkDecoded compares a decoded request with what encoding/json has read.
func checkDecoded(t *testing.T, body []byte, want extenderv1.ExtenderArgs, got *request, err error) {
	t.Helper()
	if wantErr := unanswerable(want); wantErr != nil {
		if err == nil {
			t.Fatalf("accepted %q, want %v", body, wantErr)
		}
		return
	}
	if err != nil {
		if !hasNullName(want, err) {
			t.Fatalf("refused %q: %v", body, err)
		}
		return
	}
	wantPod := podOf(want.Pod)
	if absurd(want.Pod) {
		wantPod.CPUMilli, wantPod.MemoryBytes = got.pod.CPUMilli, got.pod.MemoryBytes
		wantPod.LimitCPUMilli, wantPod.LimitMemoryBytes = got.pod.LimitCPUMilli, got.pod.LimitMemoryBytes
	}
	if diff := cmp.Diff(wantPod, got.pod); diff != "" {
		t.Errorf("pod of %q (-want +got):\n%s", body, diff)
	}
	if diff := cmp.Diff(namesOf(want), decodedNames(got)); diff != "" {
		t.Errorf("names of %q (-want +got):\n%s", body, diff)
	}
	checkReplies(t, got, want)
}

// longExponent matches quantities for which resource.ParseQuantity takes minutes.
var longExponent = regexp.MustCompile(`[eE][+-]?[0-9]{3,}`)

// checkReplies verifies that replies are valid and contain the request's nodes.
func checkReplies(t *testing.T, req *request, args extenderv1.ExtenderArgs) {
	t.Helper()
	reasons := make([]Reject, len(req.names))
	for i := range reasons {
		reasons[i] = Reject(i % 2)
	}
	text := filterReply{req: req, reasons: reasons, listed: 1}.appendTo(nil)
	var filtered extenderv1.ExtenderFilterResult
	if err := json.Unmarshal(text, &filtered); err != nil {
		t.Fatalf("filter reply %q: %v", text, err)
	}
	var want []string
	for i, name := range namesOf(args) {
		if reasons[i] == RejectNone {
			want = append(want, name)
		}
	}
	got := namesOf(extenderv1.ExtenderArgs{Nodes: filtered.Nodes, NodeNames: filtered.NodeNames})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("filter reply (-want +got):\n%s", diff)
	}
	text = prioritizeReply{req: req, scores: make([]int8, len(req.names)), full: true}.appendTo(nil)
	var scored extenderv1.HostPriorityList
	if err := json.Unmarshal(text, &scored); err != nil || len(scored) != len(req.names) {
		t.Errorf("prioritize reply %q: %v", text, err)
	}
}

func unanswerable(args extenderv1.ExtenderArgs) error {
	switch {
	case args.Pod == nil:
		return errNoPod
	case len(namesOf(args)) == 0:
		return errNoNodes
	}
	return nil
}

// hasNullName reports whether err may be about a null in NodeNames, which
// encoding/json reads as an empty name.
func hasNullName(args extenderv1.ExtenderArgs, err error) bool {
	return args.NodeNames != nil && strings.Contains(err.Error(), "NodeNames: ") && strings.Contains(err.Error(), "'n' where a string")
}

func namesOf(args extenderv1.ExtenderArgs) (names []string) {
	if args.NodeNames != nil && len(*args.NodeNames) > 0 {
		return *args.NodeNames
	}
	if args.Nodes != nil {
		for i := range args.Nodes.Items {
			names = append(names, args.Nodes.Items[i].Name)
		}
	}
	return names
}

func decodedNames(r *request) (names []string) {
	for i := range r.names {
		names = append(names, string(r.nodeName(i)))
	}
	return names
}

// podOf reads a pod as Kubernetes does.
func podOf(pod *v1.Pod) Pod {
	p := Pod{
		Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID),
		CPUMilli: Absent, MemoryBytes: Absent,
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		p.OwnerUID, p.OwnerKind, p.OwnerName = string(owner.UID), owner.Kind, owner.Name
	}
	p.TemplateHash = pod.Labels["pod-template-hash"]
	if p.OwnerKind == "StatefulSet" || p.OwnerKind == "DaemonSet" {
		p.TemplateHash = pod.Labels["controller-revision-hash"]
	}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		p.HasClaims = p.HasClaims || v.PersistentVolumeClaim != nil || v.Ephemeral != nil
	}
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	if q, ok := requests[v1.ResourceCPU]; ok {
		p.CPUMilli = max(0, q.MilliValue())
	}
	if q, ok := requests[v1.ResourceMemory]; ok {
		p.MemoryBytes = max(0, q.Value())
	}
	limits := resourcehelper.PodLimits(pod, resourcehelper.PodResourcesOptions{})
	p.LimitCPUMilli = max(0, limits.Cpu().MilliValue())
	p.LimitMemoryBytes = max(0, limits.Memory().Value())
	return p
}

// absurd reports whether any amount is negative or exceeds int64. The extender saturates there,
// whereas Kubernetes wraps around.
func absurd(pod *v1.Pod) bool {
	found := false
	look := func(lists ...v1.ResourceList) {
		for _, list := range lists {
			for _, q := range list {
				found = found || q.Sign() < 0 || q.CmpInt64(1<<50) > 0
			}
		}
	}
	for _, c := range slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers) {
		look(c.Resources.Requests, c.Resources.Limits)
	}
	if pod.Spec.Resources != nil {
		look(pod.Spec.Resources.Requests, pod.Spec.Resources.Limits)
	}
	look(pod.Spec.Overhead)
	return found
}

// FuzzQuantity verifies that a quantity is either read as apimachinery reads it or passed on to it.
func FuzzQuantity(f *testing.F) {
	for _, text := range []string{
		"250m", "2", "1Gi", "1e3", "0.5", "1.5Gi", ".5", "5.", "007", "1E", "1Ei", "100n", "1u", "-1", "+1",
		"9223372036854775807", "999999999999999P", "0.000000000000001Pi", " 2 ", "", "m", "1e-999999999", "1e9999", "-5e-5",
		strings.Repeat("1", 100), "1.2.3", "1kk",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, perOne := range []int64{cpuUnits, memoryUnits} {
			got, err := parseQuantity([]byte(text), perOne)
			if quantity.IsBounds(err) {
				return
			}
			want, wantErr := resource.ParseQuantity(strings.TrimSpace(text))
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("%q: error %v, want %v", text, err, wantErr)
			}
			if err == nil && got != unitsOf(want, perOne) {
				t.Errorf("%q: got %d of %d, want %s", text, got, perOne, want.String())
			}
		}
	})
}

// unitsOf converts a quantity in the slow way.
func unitsOf(q resource.Quantity, perOne int64) int64 {
	n := new(big.Rat).SetInt64(perOne)
	value, _ := new(big.Rat).SetString(q.AsDec().String())
	n.Mul(n, value)
	units, rest := new(big.Int).QuoRem(n.Num(), n.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		units.Add(units, big.NewInt(1))
	}
	switch {
	case units.Sign() < 0:
		return 0
	case !units.IsInt64():
		return math.MaxInt64
	}
	return units.Int64()
}
