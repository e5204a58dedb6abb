package probe

import (
	"errors"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evenkeel/evenkeel/internal/doctor"
)

// Whether nodes are fenced is asked by a dry run, with the rights of the
// ServiceAccount alone.
func TestFence(t *testing.T) {
	nodes := schema.GroupResource{Resource: "nodes"}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	const account = "system:serviceaccount:evenkeel:evenkeel"
	cases := map[string]struct {
		identity string
		allowed  bool
		nodes    []runtime.Object
		err      error
		want     doctor.Fence
		asked    int
	}{
		"no fence":               {account, true, []runtime.Object{node}, nil, doctor.FenceOpen, 1},
		"a fence":                {account, true, []runtime.Object{node}, apierrors.NewForbidden(nodes, "n1", errors.New("fenced")), doctor.FenceClosed, 1},
		"one without a reason":   {account, true, []runtime.Object{node}, apierrors.NewInvalid(schema.GroupKind{Kind: "Node"}, "n1", nil), doctor.FenceClosed, 1},
		"the API server is slow": {account, true, []runtime.Object{node}, apierrors.NewTimeoutError("slow", 1), doctor.FenceUnknown, 1},
		"no node":                {account, true, nil, nil, doctor.FenceUnknown, 0},
		"no right to patch":      {account, false, []runtime.Object{node}, nil, doctor.FenceUnknown, 0},
		"asked by a person":      {"admin", true, []runtime.Object{node}, nil, doctor.FenceUnknown, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(tc.nodes...)
			asked := 0
			client.PrependReactor("patch", "nodes", func(action clienttesting.Action) (bool, runtime.Object, error) {
				asked++
				patch := action.(clienttesting.PatchActionImpl)
				if len(patch.PatchOptions.DryRun) != 1 || patch.PatchOptions.DryRun[0] != metav1.DryRunAll {
					t.Error("doctor changes the node")
				}
				return true, node, tc.err
			})
			need := doctor.Need{Verb: "patch", Resource: "nodes"}
			rights := &doctor.Rights{Identity: tc.identity, Answers: []doctor.Answer{{Need: need, Allowed: tc.allowed}}}
			if got := Fence(t.Context(), client, rights); got != tc.want || asked != tc.asked {
				t.Errorf("got %d after %d questions, want %d after %d", got, asked, tc.want, tc.asked)
			}
		})
	}
}
