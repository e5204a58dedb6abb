package probe

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/status/doctor"
)

// fenceTimeout bounds the requests about the fence.
const fenceTimeout = 10 * time.Second

// foreignKey is an annotation that nodesync never writes.
const foreignKey = `{"metadata":{"annotations":{"evenkeel.io/unfenced":"true"}}}`

// Fence sends dry-run patches to find out which keys the API server would let the client
// write to a node: a key that nodesync never writes, and the keys that it writes
// according to the policy. It sends them only if the client is a ServiceAccount that may
// patch nodes.
func Fence(ctx context.Context, client kubernetes.Interface, rights *doctor.Rights, sync *policy.NodeSync) doctor.Fence {
	if !rights.PatchesNodes() {
		return doctor.FenceUnknown
	}
	ctx, cancel := context.WithTimeout(ctx, fenceTimeout)
	defer cancel()
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil || len(nodes.Items) == 0 {
		return doctor.FenceUnknown
	}
	refused := func(patch []byte) (bool, error) {
		options := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
		_, err := client.CoreV1().Nodes().Patch(ctx, nodes.Items[0].Name, types.MergePatchType, patch, options)
		if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
			return true, nil
		}
		return false, err
	}
	switch fenced, err := refused([]byte(foreignKey)); {
	case err != nil:
		return doctor.FenceUnknown
	case !fenced:
		return doctor.FenceOpen
	}
	if narrow, err := refused(ownKeys(&nodes.Items[0], sync)); narrow && err == nil {
		return doctor.FenceNarrow
	}
	return doctor.FenceClosed
}

// ownKeys returns the patch that writes the label and the taints of the policy to a node.
func ownKeys(node *v1.Node, sync *policy.NodeSync) []byte {
	labels, taints := map[string]string{}, []v1.Taint{}
	if sync.Label.Enabled {
		labels[sync.Label.Key] = sync.Label.Value
	}
	for _, taint := range node.Spec.Taints {
		if taint.Effect != v1.TaintEffectPreferNoSchedule || !slices.Contains(doctor.OwnKeys(sync), taint.Key) {
			taints = append(taints, taint)
		}
	}
	for _, taint := range []policy.NodeSyncTaint{sync.Taint, sync.RejectTaint} {
		if taint.Enabled {
			taints = append(taints, v1.Taint{Key: taint.Key, Value: taint.Value, Effect: v1.TaintEffectPreferNoSchedule})
		}
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"taints": taints}})
	if err != nil {
		return []byte("{}") // strings can always be encoded
	}
	return patch
}
