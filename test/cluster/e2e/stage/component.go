package stage

import (
	"context"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// Component applies a shipped component's rights while the case runs.
func (f *Fixture) Component(name string) {
	f.T.Helper()
	root, err := evenkeel.Root(f.T.Context())
	if err != nil {
		f.T.Fatal(err)
	}
	if err := evenkeel.Apply(f.T.Context(), f.Cluster, filepath.Join(root, "deploy", "components", name, "rbac.yaml"), false); err != nil {
		f.T.Fatal(err)
	}
	ctx := context.WithoutCancel(f.T.Context())
	f.T.Cleanup(func() {
		if err := f.Client().RbacV1().ClusterRoleBindings().Delete(ctx, "evenkeel-"+name, metav1.DeleteOptions{}); err != nil {
			f.T.Error(err)
		}
	})
}
