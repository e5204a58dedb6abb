package probe

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/status/doctor"
)

// A dry run finds out whether nodes are fenced, and needs only the permissions of the
// ServiceAccount.
func TestFence(t *testing.T) {
	nodes := schema.GroupResource{Resource: "nodes"}
	disk := v1.Taint{Key: "disk", Value: "full", Effect: v1.TaintEffectPreferNoSchedule}
	hot := v1.Taint{Key: "evenkeel.io/hot", Value: "old", Effect: v1.TaintEffectPreferNoSchedule}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Spec: v1.NodeSpec{Taints: []v1.Taint{disk, hot}}}
	const own = `{"metadata":{"labels":{"status":"presure"}},"spec":{"taints":[` +
		`{"key":"disk","value":"full","effect":"PreferNoSchedule"},` +
		`{"key":"evenkeel.io/hot","value":"true","effect":"PreferNoSchedule"},` +
		`{"key":"evenkeel.io/above-reject","value":"true","effect":"PreferNoSchedule"}]}}`
	load := policy.Default(kinds.All)
	load.NodeSync.Label.Enabled, load.NodeSync.Taint.Enabled, load.NodeSync.RejectTaint.Enabled = true, true, true
	forbidden := apierrors.NewForbidden(nodes, "n1", errors.New("fenced"))
	const account = "system:serviceaccount:evenkeel:evenkeel"
	cases := map[string]struct {
		identity string
		allowed  bool
		nodes    []runtime.Object
		err      error
		errOfOwn error // the error for what nodesync itself writes
		want     doctor.Fence
		asked    int
	}{
		"no fence":                 {account, true, []runtime.Object{node}, nil, nil, doctor.FenceOpen, 1},
		"a fence":                  {account, true, []runtime.Object{node}, forbidden, nil, doctor.FenceClosed, 2},
		"one without a reason":     {account, true, []runtime.Object{node}, apierrors.NewInvalid(schema.GroupKind{Kind: "Node"}, "n1", nil), nil, doctor.FenceClosed, 2},
		"one of other keys":        {account, true, []runtime.Object{node}, forbidden, forbidden, doctor.FenceNarrow, 2},
		"a fence, and no 2nd word": {account, true, []runtime.Object{node}, forbidden, apierrors.NewTimeoutError("slow", 1), doctor.FenceClosed, 2},
		"the API server is slow":   {account, true, []runtime.Object{node}, apierrors.NewTimeoutError("slow", 1), nil, doctor.FenceUnknown, 1},
		"no node":                  {account, true, nil, nil, nil, doctor.FenceUnknown, 0},
		"no right to patch":        {account, false, []runtime.Object{node}, nil, nil, doctor.FenceUnknown, 0},
		"asked by a person":        {"admin", true, []runtime.Object{node}, nil, nil, doctor.FenceUnknown, 0},
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
				if asked == 1 {
					return true, node, tc.err
				}
				if diff := cmp.Diff(own, string(patch.Patch)); diff != "" {
					t.Errorf("asked for its own keys (-want +got):\n%s", diff)
				}
				return true, node, tc.errOfOwn
			})
			need := doctor.Need{Verb: "patch", Resource: "nodes"}
			rights := &doctor.Rights{Identity: tc.identity, Answers: []doctor.Answer{{Need: need, Allowed: tc.allowed}}}
			if got := Fence(t.Context(), client, rights, &load.NodeSync); got != tc.want || asked != tc.asked {
				t.Errorf("got %d after %d questions, want %d after %d", got, asked, tc.want, tc.asked)
			}
		})
	}
}
