package admission

import (
	"fmt"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/prometheus"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

// atOnce is a LoadPolicy whose source has history, so that a process decides as soon as it starts.
// Its last parameter is the time between two evictions.
const atOnce = `
---
apiVersion: evenkeel.io/v1alpha1
kind: LoadPolicy
usage: {sampleInterval: 5s, maxAge: 35s, observationPeriod: 25s, sources: [{type: Prometheus, maxAge: 20s, timeout: 3s, prometheus: {address: %q}}]}
hot: {minWindow: 10s, startup: 0s}
lines: {cpu: {}, memory: {low: 45, reject: 60, evict: 65, leave: 60}}
eviction: {steering: admission, maxMovesPerHour: 0, maxMovesPerHourOfOwner: 0, ownerSettle: 0s, nodeSettle: 0s, cycleDeadline: 3m, interval: %s, cooldown: {base: 0s, max: 0s}}
`

// remembered writes a policy file from atOnce, with a Prometheus that has history of the given
// nodes.
func remembered(f *stage.Fixture, interval time.Duration, nodes ...string) string {
	f.T.Helper()
	server := f.Prometheus(prometheus.Config{NodeExporter: true}, nodes...)
	return f.Policy(stage.RealUsage, fmt.Sprintf(atOnce, server.URL(), interval))
}

// quick is nobodyAsks with a policy by which processes need not observe first. There are two
// seconds between evictions, so that a case can look at one move before the next is made.
func quick(t *testing.T, component string) (f *stage.Fixture, o ours, story *scenario.Story, policy string) {
	t.Helper()
	f, o = unasked(t, component)
	story, err := scenario.RequestSkew(t.Context(), f.Cluster, scenario.OwnAddresses())
	if err != nil {
		t.Fatal(err)
	}
	return f, o, story, remembered(f, 2*time.Second, story.Nodes...)
}
