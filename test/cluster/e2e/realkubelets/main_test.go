// Package realkubelets holds the end-to-end tests on nodes that are not simulated: real
// kubelets, containers that use what they are said to use, and whatever differs between
// those and the simulated ones. Nodes are small and few, so other cases are tested faster
// without them.
package realkubelets

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/kubelets"
)

func TestMain(m *testing.M) { os.Exit(stage.MainWithKubelets(context.Background(), m)) }

// loadPolicy is Fast, but judges moves a minute after they landed.
var loadPolicy = strings.Replace(stage.Fast, "eviction: {", "eviction: {outcomeAfter: 1m, ", 1)

// fromKubelets is loadPolicy with usage from an endpoint of the kubelets, whose
// certificates nobody has signed.
func fromKubelets(endpoint string) string {
	source := "usage: {sources: [{type: Kubelet, kubelet: {endpoint: " + endpoint + ", tls: {insecureSkipVerify: true}}}], "
	return strings.Replace(loadPolicy, "usage: {", source, 1)
}

// burning is a Deployment in namespace shop whose pods really use CPU and memory.
func burning(name string, requests cluster.Resources, burn kubelets.Burn) cluster.Workload {
	w := stage.Workload(name, requests, cluster.Resources{})
	w.Adjust = burn.Apply
	return w
}

// fetch decodes a report of the serving Evenkeel, and reports whether it answered. Cases that
// watch ask so often that one answer may be late.
func fetch(f *stage.Fixture, path string, into any) bool {
	f.T.Helper()
	status, body, err := evenkeel.Get(f.T.Context(), stage.Reports()+path)
	if err != nil || status != http.StatusOK {
		return false
	}
	if err := json.Unmarshal([]byte(body), into); err != nil {
		f.T.Fatal(err)
	}
	return true
}
