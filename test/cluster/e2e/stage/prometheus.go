package stage

import (
	"time"

	"github.com/evenkeel/evenkeel/test/cluster/prometheus"
)

// Prometheus runs a real Prometheus until the case ends, with an hour of history of the
// given nodes, or of all nodes if none is given. If prometheus is not on the PATH, the
// case is skipped. Cluster, Dir and History of the config need not be set.
func (f *Fixture) Prometheus(config prometheus.Config, nodes ...string) *prometheus.Server {
	f.T.Helper()
	if !prometheus.Installed() {
		f.T.Skip("there is no prometheus on the PATH; .ci/run installs it")
	}
	config.Cluster, config.Dir, config.History = f.Cluster, f.T.TempDir(), time.Hour
	server, err := prometheus.Start(f.T.Context(), config, nodes...)
	if err != nil {
		f.T.Fatal(err)
	}
	f.T.Cleanup(func() {
		if err := server.Stop(); err != nil {
			f.T.Error(err)
		}
	})
	return server
}
