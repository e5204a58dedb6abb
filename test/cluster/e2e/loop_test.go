package e2e

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/descheduler/pkg/framework/plugins/removepodsviolatingtopologyspreadconstraint"

	"github.com/evenkeel/evenkeel/internal/testkit/landings"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// The loop of descheduler#1918 for as long as it was reported: a cycle every 30 seconds for 12
// minutes, in which descheduler's plugin alone made 26 evictions. Evenkeel makes none and says why.
//
//e2e:tier all
func TestTheReportedLoopForTwelveMinutes(t *testing.T) {
	f := stage.New(t)
	s := &landings.Reported[slices.IndexFunc(landings.Reported, func(s landings.Scenario) bool { return s.Issue == 1918 })]
	f.PlaceLandings(s)
	policy, mark, metrics := f.Policy(s.Policy), f.Mark(), f.FreeAddress()
	f.Start("run", "--policy-config-file", policy, "--descheduling-interval", "30s", "--leader-elect=false", "--metrics-address", metrics)
	const ended = `evenkeel_cycles_total{result="success"}`
	f.Eventually(13*time.Minute, "24 cycles", func(context.Context) bool {
		cycles, err := f.ReadMetric(metrics, ended)
		return err == nil && cycles >= 24
	})
	if evictions := f.Evictions(mark); evictions != 0 {
		t.Errorf("%d evictions, want none", evictions)
	}
	observing := f.Policy(s.Policy, stage.Fast) // for less than five minutes
	stays := 0
	for _, pod := range f.Pods(t.Context(), "web") {
		got := stage.Run(t.Context(), t, t.TempDir(), "explain", "--kubeconfig", f.Access.Evenkeel, "--policy-config-file", observing, "pod", pod.Namespace+"/"+pod.Name)
		if got.Code != 0 {
			t.Fatalf("explain ended with code %d: %s", got.Code, got.Stderr)
		}
		said := strings.Join(strings.Fields(got.Stdout), " ")
		if strings.Contains(said, removepodsviolatingtopologyspreadconstraint.PluginName+" asks for its eviction, but ") {
			stays++
			t.Logf("%s: %s", pod.Name, said)
			break
		}
	}
	if stays == 0 {
		t.Error("for no pod, explain says that the plugin asks for its eviction and why it stays")
	}
}
