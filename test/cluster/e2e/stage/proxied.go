package stage

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/evenkeel/evenkeel/test/cluster/apifault"
)

// APIProxy starts a proxy for the API server. All requests pass until the case makes some
// fail. It returns a fixture whose processes reach the API server through the proxy.
func (f *Fixture) APIProxy() (*Fixture, *apifault.Proxy) {
	f.T.Helper()
	p, err := apifault.Start(context.WithoutCancel(f.T.Context()), apifault.Config{
		Target:   f.Config(),
		CertFile: filepath.Join(f.StateDir(), "serving.crt"), KeyFile: filepath.Join(f.StateDir(), "serving.key"),
		Seed: 1,
	})
	if err != nil {
		f.T.Fatal(err)
	}
	f.T.Cleanup(func() {
		if err := p.Stop(); err != nil {
			f.T.Error(err)
		}
	})
	through, dir := *f, f.T.TempDir()
	for name, path := range map[string]*string{"evenkeel": &through.Access.Evenkeel, "extender": &through.Access.Extender} {
		file := filepath.Join(dir, fmt.Sprintf("%s.kubeconfig", name))
		if err := p.Kubeconfig(*path, file); err != nil {
			f.T.Fatal(err)
		}
		*path = file
	}
	return &through, p
}
