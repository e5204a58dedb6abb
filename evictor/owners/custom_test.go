package owners

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/evenkeel/evenkeel/reasons"
)

// Kruise's CloneSet and StatefulSet are read by the fields that they share with Kubernetes' own
// controllers.
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
	waiting := func(path ...string) func(spec, _ map[string]any) {
		return func(spec, _ map[string]any) {
			for _, field := range path[:len(path)-1] {
				inner := map[string]any{}
				spec[field], spec = inner, inner
			}
			if last := path[len(path)-1]; last == "paused" {
				spec[last] = true
			} else {
				spec["type"] = last
			}
		}
	}
	to := func(revision string) func(_, status map[string]any) {
		return func(_, status map[string]any) { status["updateRevision"] = revision }
	}
	for name, tc := range map[string]struct {
		object *unstructured.Unstructured
		want   reasons.Reason
	}{
		"paused, a pod that is updated":              {of("CloneSet", to("web-h1"), waiting("updateStrategy", "paused")), ""},
		"paused, a pod that would be":                {of("CloneSet", to("web-h2"), waiting("updateStrategy", "paused")), reasons.OwnerRollingOut},
		"paused in the field of newer versions":      {of("CloneSet", to("web-h1"), waiting("updateStrategy", "rollingUpdate", "paused")), ""},
		"paused as a Deployment is":                  {of("Thing", to("web-h1"), waiting("paused")), ""},
		"not paused":                                 {of("CloneSet", to("web-h1")), reasons.OwnerRollingOut},
		"OnDelete, a pod that is updated":            {of("StatefulSet", to("h1"), parallel, waiting("updateStrategy", "OnDelete")), ""},
		"OnDelete, a pod that would be":              {of("StatefulSet", to("web-h2"), parallel, waiting("updateStrategy", "OnDelete")), reasons.OwnerRollingOut},
		"a suffix that is not the hash":              {of("StatefulSet", to("web-xh1"), parallel, waiting("updateStrategy", "OnDelete")), reasons.OwnerRollingOut},
		"paused with nothing to update":              {of("CloneSet", waiting("updateStrategy", "paused")), ""},
		"a set that reserves the pod":                {of("StatefulSet", parallel, reserving(int64(7))), reasons.OwnerScaledDown},
		"a set that reserves a range of it":          {of("StatefulSet", parallel, reserving("6-8")), reasons.OwnerScaledDown},
		"a set that reserves lower ordinals":         {of("StatefulSet", parallel, reserving("0-2", int64(1))), ""},
		"a set that begins at a higher one":          {of("StatefulSet", parallel, func(spec, _ map[string]any) { spec["ordinals"] = map[string]any{"start": int64(8)} }), reasons.OwnerScaledDown},
		"a set that does not state its scale":        {of("StatefulSet", parallel, func(spec, _ map[string]any) { delete(spec, "replicas") }), ""},
		"a CloneSet at rest":                         {of("CloneSet"), ""},
		"a CloneSet in an update":                    {of("CloneSet", updating), reasons.OwnerRollingOut},
		"a change that its controller has not seen":  {of("CloneSet", unseen), reasons.OwnerRollingOut},
		"a CloneSet with more pods than it wants":    {of("CloneSet", surplus), reasons.OwnerScaledDown},
		"a StatefulSet with a lower pod down":        {of("StatefulSet"), reasons.OwnerCreatesInOrder},
		"a parallel one":                             {of("StatefulSet", parallel), ""},
		"one that reserves none":                     {of("StatefulSet", reserving()), reasons.OwnerCreatesInOrder},
		"one that reserves another, lower pod down":  {of("StatefulSet", reserving(int64(12))), reasons.OwnerCreatesInOrder},
		"one that reserves a range":                  {of("StatefulSet", reserving("20-30")), reasons.OwnerCreatesInOrder},
		"a CloneSet that rests at its partition":     {of("CloneSet", updating, expecting(4, 4)), ""},
		"one on its way there":                       {of("CloneSet", updating, expecting(4, 3)), reasons.OwnerRollingOut},
		"one on its way back":                        {of("CloneSet", updating, expecting(4, 5)), reasons.OwnerRollingOut},
		"one that updates all":                       {of("CloneSet", updating, expecting(10, 10)), reasons.OwnerRollingOut},
		"a parallel set that rests at its partition": {of("StatefulSet", parallel, updating, partition(6, 4)), ""},
		"a parallel set on its way there":            {of("StatefulSet", parallel, updating, partition(6, 3)), reasons.OwnerRollingOut},
		"a parallel set without a partition":         {of("StatefulSet", parallel, updating, partition(0, 10)), reasons.OwnerRollingOut},
		"an object with nothing but its names":       {&unstructured.Unstructured{Object: map[string]any{"kind": "Thing", "metadata": map[string]any{"uid": "c-1"}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			pod := member(7)
			pod.Labels = map[string]string{"controller-revision-hash": "h1"}
			o := OfCustom(tc.object, pod)
			o.UID = "c-1"
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
	// It is unknown which ordinals have no pod, so the existing pods decide.
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
		o := OfCustom(of("StatefulSet", reserving(int64(3))), member(7))
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
	endless := of("CloneSet", func(spec, _ map[string]any) { spec["minReadySeconds"] = int64(math.MaxInt64 / 1000) })
	if o := OfCustom(endless, member(7)); o.MinReady < 24*time.Hour {
		t.Errorf("what has to be ready for longer than time can hold is read as %v", o.MinReady)
	}
	for _, path := range []string{"minReadySeconds", "updateStrategy"} {
		object := of("CloneSet", func(spec, _ map[string]any) {
			if spec[path] = int64(90); path == "updateStrategy" {
				spec[path] = map[string]any{"rollingUpdate": map[string]any{"minReadySeconds": int64(90)}}
			}
		})
		if o := OfCustom(object, member(7)); o.MinReady != 90*time.Second || o.Replicas != 10 {
			t.Errorf("%s: %+v", path, o)
		}
	}
}

// Whoever can write a custom resource can make it reserve as many ordinals as fit into an object.
// The pods of such a resource are not moved, and nothing else is delayed.
func TestManyReservedOrdinals(t *testing.T) {
	reserving := func(n int) *unstructured.Unstructured {
		var reserved []any
		for i := range n {
			reserved = append(reserved, int64(10+i*7919%n))
		}
		return &unstructured.Unstructured{Object: map[string]any{"kind": "StatefulSet", "spec": map[string]any{"replicas": int64(10), "reserveOrdinals": reserved}}}
	}
	for n, want := range map[int]reasons.Reason{maxReserved: "", maxReserved + 1: reasons.OwnerScaledDown, 150_000: reasons.OwnerScaledDown} {
		set, begun := reserving(n), time.Now()
		for range 100 {
			o := OfCustom(set, member(3))
			o.UID = "c-1"
			if got, _ := o.Refuses(noon, settle); got != want {
				t.Fatalf("with %d reserved ordinals refused for %q, want %q", n, got, want)
			}
		}
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("100 looks at %d reserved ordinals took %v", n, took)
		}
	}
}

// The ordinals are calculated correctly, whichever are reserved.
func TestReservedOrdinals(t *testing.T) {
	for _, reserved := range [][]any{
		nil, {int64(0)}, {"2-4"}, {"2-4", int64(3)}, {"2-4", "3-6", "5"}, {int64(9), int64(1)}, {"0-100"}, {"4-2"}, {"x", "-1", "1-", ""}, {" 1 - 2 "}, {"3-2147483647"},
	} {
		for first := range int64(4) {
			const wants = 4
			set := &unstructured.Unstructured{Object: map[string]any{"kind": "StatefulSet", "spec": map[string]any{
				"replicas": int64(wants), "reserveOrdinals": reserved, "ordinals": map[string]any{"start": first},
			}}}
			is := map[string]bool{}
			for _, item := range reserved {
				from, to, ranged := strings.Cut(fmt.Sprint(item), "-")
				a, err := strconv.Atoi(strings.TrimSpace(from))
				b, wrong := strconv.Atoi(strings.TrimSpace(to))
				if !ranged {
					b, wrong = a, nil
				}
				for i := a; err == nil && wrong == nil && i <= min(b, 200); i++ {
					is[fmt.Sprint("db-", i)] = true
				}
			}
			found := 0
			for i := range 200 {
				pod := fmt.Sprint("db-", i)
				want := i >= int(first) && !is[pod] && found < wants
				if want {
					found++
				}
				if got := Wants(set, pod); got != want {
					t.Errorf("%v from %d: wants %s: %v", reserved, first, pod, got)
				}
			}
		}
	}
	if Wants(&unstructured.Unstructured{Object: map[string]any{"kind": "StatefulSet", "spec": map[string]any{"replicas": int64(2_000_000_000), "reserveOrdinals": []any{"0-1999999999"}}}}, "db-5") {
		t.Error("a reserved ordinal counts as wanted")
	}
}
