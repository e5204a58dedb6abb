package owners

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/evenkeel/evenkeel/reasons"
)

// Kruise's CloneSet and StatefulSet are read by the fields that they share with
// Kubernetes' own controllers.
func TestCustomControllers(t *testing.T) {
	of := func(kind string, change ...func(spec, status map[string]any)) *unstructured.Unstructured {
		spec, status := map[string]any{"replicas": int64(10)}, map[string]any{
			"replicas": int64(10), "observedGeneration": int64(4), "currentRevision": "a", "updateRevision": "a",
		}
		for _, c := range change {
			c(spec, status)
		}
		return &unstructured.Unstructured{Object: map[string]any{
			"kind": kind, "metadata": map[string]any{"uid": "c-1", "generation": int64(4)}, "spec": spec, "status": status,
		}}
	}
	updating := func(_, status map[string]any) { status["updateRevision"] = "b" }
	unseen := func(_, status map[string]any) { status["observedGeneration"] = int64(3) }
	surplus := func(_, status map[string]any) { status["replicas"] = int64(11) }
	parallel := func(spec, _ map[string]any) { spec["podManagementPolicy"] = "Parallel" }
	reserving := func(ordinals ...any) func(spec, _ map[string]any) {
		return func(spec, _ map[string]any) { spec["reserveOrdinals"] = ordinals }
	}
	partition := func(n, updated int64) func(spec, status map[string]any) {
		return func(spec, status map[string]any) {
			spec["updateStrategy"] = map[string]any{"rollingUpdate": map[string]any{"partition": n}}
			status["updatedReplicas"] = updated
		}
	}
	expecting := func(expected, updated int64) func(spec, status map[string]any) {
		return func(_, status map[string]any) {
			status["expectedUpdatedReplicas"], status["updatedReplicas"] = expected, updated
		}
	}
	for name, tc := range map[string]struct {
		object *unstructured.Unstructured
		want   reasons.Reason
	}{
		"a CloneSet at rest":                          {of("CloneSet"), ""},
		"a CloneSet in an update":                     {of("CloneSet", updating), reasons.OwnerRollingOut},
		"a change that its controller has not seen":   {of("CloneSet", unseen), reasons.OwnerRollingOut},
		"a CloneSet with more pods than it wants":     {of("CloneSet", surplus), reasons.OwnerScaledDown},
		"a StatefulSet with a lower pod down":         {of("StatefulSet"), reasons.OwnerCreatesInOrder},
		"a parallel one":                              {of("StatefulSet", parallel), ""},
		"one that reserves none":                      {of("StatefulSet", reserving()), reasons.OwnerCreatesInOrder},
		"one that reserves another, lower pod down":   {of("StatefulSet", reserving(int64(12))), reasons.OwnerCreatesInOrder},
		"one that reserves a range":                   {of("StatefulSet", reserving("20-30")), reasons.OwnerCreatesInOrder},
		"a CloneSet that rests at its partition":      {of("CloneSet", updating, expecting(4, 4)), ""},
		"one on its way there":                        {of("CloneSet", updating, expecting(4, 3)), reasons.OwnerRollingOut},
		"one on its way back":                         {of("CloneSet", updating, expecting(4, 5)), reasons.OwnerRollingOut},
		"one that updates all":                        {of("CloneSet", updating, expecting(10, 10)), reasons.OwnerRollingOut},
		"a parallel set that rests at its partition":  {of("StatefulSet", parallel, updating, partition(6, 4)), ""},
		"a parallel set on its way there":             {of("StatefulSet", parallel, updating, partition(6, 3)), reasons.OwnerRollingOut},
		"a parallel set without a partition":          {of("StatefulSet", parallel, updating, partition(0, 10)), reasons.OwnerRollingOut},
		"something that states nothing but its names": {&unstructured.Unstructured{Object: map[string]any{"kind": "Thing", "metadata": map[string]any{"uid": "c-1"}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := OfCustom(tc.object)
			var pods []*v1.Pod
			for i := range 10 {
				pods = append(pods, member(i))
			}
			down(pods[3])
			got, _ := o.Refuses(noon, settle)
			if got == "" {
				got = o.Recreates(pods[7], o.Count(pods, func(string) bool { return false }, noon))
			}
			if got != tc.want {
				t.Errorf("refused for %q, want %q", got, tc.want)
			}
		})
	}
	// Which ordinals have no pod is not known, so the pods that exist decide.
	for name, tc := range map[string]struct {
		change func(*v1.Pod)
		of     int
		want   reasons.Reason
	}{
		"all are available":     {func(*v1.Pod) {}, 7, ""},
		"a lower one is down":   {down, 7, reasons.OwnerCreatesInOrder},
		"a higher one is down":  {down, 2, ""},
		"a lower one is gone":   {terminating, 7, reasons.OwnerCreatesInOrder},
		"a higher one is gone":  {terminating, 2, reasons.OwnerCreatesInOrder},
		"it is the one that is": {down, 5, ""},
	} {
		o := OfCustom(of("StatefulSet", reserving(int64(3))))
		var pods []*v1.Pod
		for i := range 11 {
			pods = append(pods, member(i))
		}
		tc.change(pods[5])
		pod := pods[tc.of]
		pods = append(pods[:3], pods[4:]...)
		if got := o.Recreates(pod, o.Count(pods, func(string) bool { return false }, noon)); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	for _, path := range []string{"minReadySeconds", "updateStrategy"} {
		object := of("CloneSet", func(spec, _ map[string]any) {
			if spec[path] = int64(90); path == "updateStrategy" {
				spec[path] = map[string]any{"rollingUpdate": map[string]any{"minReadySeconds": int64(90)}}
			}
		})
		if o := OfCustom(object); o.MinReady != 90*time.Second || o.Replicas != 10 {
			t.Errorf("%s: %+v", path, o)
		}
	}
}
