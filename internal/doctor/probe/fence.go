package probe

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/evenkeel/evenkeel/internal/doctor"
)

// fenceTimeout bounds the question about the fence.
const fenceTimeout = 10 * time.Second

// foreignKey is an annotation that nodesync never writes.
const foreignKey = `{"metadata":{"annotations":{"evenkeel.io/unfenced":"true"}}}`

// Fence asks the API server, by a dry run, whether it would let the client
// write to a node what nodesync never writes. It asks for a ServiceAccount that
// may patch nodes only.
func Fence(ctx context.Context, client kubernetes.Interface, rights *doctor.Rights) doctor.Fence {
	if !rights.PatchesNodes() {
		return doctor.FenceUnknown
	}
	ctx, cancel := context.WithTimeout(ctx, fenceTimeout)
	defer cancel()
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil || len(nodes.Items) == 0 {
		return doctor.FenceUnknown
	}
	options := metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}
	_, err = client.CoreV1().Nodes().Patch(ctx, nodes.Items[0].Name, types.MergePatchType, []byte(foreignKey), options)
	switch {
	case err == nil:
		return doctor.FenceOpen
	case apierrors.IsForbidden(err) || apierrors.IsInvalid(err):
		return doctor.FenceClosed
	}
	return doctor.FenceUnknown
}
