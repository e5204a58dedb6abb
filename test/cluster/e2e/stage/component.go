package stage

import (
	"context"
	"slices"

	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// Component applies a shipped component, and the components that it includes, until the
// case ends.
func (f *Fixture) Component(name string) {
	f.T.Helper()
	files, err := evenkeel.Component(f.T.Context(), name)
	if err != nil {
		f.T.Fatal(err)
	}
	ctx := context.WithoutCancel(f.T.Context())
	f.T.Cleanup(func() {
		for _, file := range slices.Backward(files) {
			if err := evenkeel.Delete(ctx, f.Cluster, file); err != nil {
				f.T.Error(err)
			}
		}
	})
	for _, file := range files {
		if err := evenkeel.Apply(f.T.Context(), f.Cluster, file, false); err != nil {
			f.T.Fatal(err)
		}
	}
}
