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
	reserving := func(spec, _ map[string]any) { spec["reserveOrdinals"] = []any{int64(3)} }
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
		"one that reserves ordinals":                  {of("StatefulSet", reserving), ""},
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
