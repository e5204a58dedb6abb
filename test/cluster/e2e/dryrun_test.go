package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// Three plugins in dry run, one that moves pods by usage, one that is planned and one that evicts by
// itself, say what they would do while another plugin evicts. There is no request to evict their
// pods, and no Event on them.
func TestPluginsInDryRunBesideOneThatEvicts(t *testing.T) {
	f := newFixture(t)
	f.placeMixed()
	mark := f.Mark()
	trying := strings.Replace(stage.Fast, "eviction: {",
		"eviction: {dryRunPlugins: [RealUsageLowNodeUtilization, LowNodeUtilization, RemovePodsViolatingNodeTaints], ", 1)
	running := f.Start("run", "--policy-config-file", f.Policy(mixed, trying), "--metrics-address", "0")
	f.endsWell(running, 3*time.Minute)

	// The numbers are those of TestDryRunAndPlanChangeNothing.
	want := map[string]int{"hog": 2, "big": 3, "stray": 2}
	if diff := cmp.Diff(want, toldEvictions(running.Log())); diff != "" {
		t.Errorf("evictions that the plugins in dry run report (-want +got):\n%s", diff)
	}
	listed := map[string]int{}
	for _, e := range historyOfLog(t, running) {
		workload, _, _ := strings.Cut(e.Pod, "-")
		if e.DryRun == (workload == "twin") {
			t.Errorf("history lists %+v", e)
		}
		if e.DryRun {
			listed[workload]++
		}
	}
	if diff := cmp.Diff(want, listed); diff != "" {
		t.Errorf("evictions that history lists as those of a dry run (-want +got):\n%s", diff)
	}
	requests, err := f.Audit(mark)
	if err != nil {
		t.Fatal(err)
	}
	evictions := requests.By(evenkeelUser).To("create", "pods/eviction")
	if len(evictions) == 0 {
		t.Error("the plugin that is not in dry run evicts nothing")
	}
	for _, request := range evictions {
		if !strings.HasPrefix(request.Name, "twin-") {
			t.Errorf("a request to evict a pod of a plugin in dry run: %v", request)
		}
	}
	sent, err := f.Client().CoreV1().Events(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	twins := 0
	for i := range sent.Items {
		event := &sent.Items[i]
		switch {
		case event.ReportingController != "evenkeel" || event.InvolvedObject.Kind != "Pod":
		case strings.HasPrefix(event.InvolvedObject.Name, "twin-") && event.Type == v1.EventTypeNormal:
			twins++
		default:
			t.Errorf("an Event on %s: %s", event.InvolvedObject.Name, event.Message)
		}
	}
	if twins == 0 {
		t.Error("there is no Event on the evicted pods: the case proves nothing")
	}
	f.checkRights(mark)
}
