package slim

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Others read a stored pod while the next pod of its template is compared with it. The comparison
// must not write to it, not even the cached string of a quantity.
func TestStoredPodIsNotWrittenTo(t *testing.T) {
	s, limit := New(), resource.NewQuantity(math.MaxInt64, resource.BinarySI)
	untouched := *limit
	for _, size := range []*resource.Quantity{limit, new(untouched)} {
		pod := &v1.Pod{
			ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: "rs", Kind: "ReplicaSet", Controller: new(true)}}},
			Spec: v1.PodSpec{Volumes: []v1.Volume{{Name: "cache", VolumeSource: v1.VolumeSource{
				EmptyDir: &v1.EmptyDirVolumeSource{SizeLimit: size},
			}}}},
		}
		if _, err := s.Transform(pod); err != nil {
			t.Fatal(err)
		}
	}
	if *limit != untouched {
		t.Errorf("the stored pod has %#v, had %#v", *limit, untouched)
	}
}

// The comparison of pods visits fields, and must not read unexported fields of other packages. Only
// times and quantities have such fields.
func TestFieldsOfPodsCanBeCompared(t *testing.T) {
	compared := []reflect.Type{reflect.TypeFor[resource.Quantity](), reflect.TypeFor[metav1.Time]()}
	seen := map[reflect.Type]bool{}
	var walk func(of reflect.Type)
	walk = func(of reflect.Type) {
		if seen[of] || slices.Contains(compared, of) {
			return
		}
		seen[of] = true
		switch of.Kind() {
		case reflect.Pointer, reflect.Slice:
			walk(of.Elem())
		case reflect.Struct:
			for field := range of.Fields() {
				if !field.IsExported() {
					t.Errorf("%s.%s cannot be compared", of, field.Name)
				} else {
					walk(field.Type)
				}
			}
		case reflect.Interface, reflect.Func, reflect.Chan:
			t.Errorf("%s cannot be compared", of)
		default: // a plain value, or a map of such values
		}
	}
	walk(reflect.TypeFor[v1.Pod]())
	if len(seen) < 100 {
		t.Errorf("%d types were seen, pods have more", len(seen))
	}
}

// Only values that are certainly equal count as equal. Times in another location do not.
func TestEqualTimes(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	a := v1.PodCondition{LastTransitionTime: metav1.NewTime(noon)}
	b := v1.PodCondition{LastTransitionTime: metav1.NewTime(noon.In(time.FixedZone("east", 8*3600)))}
	c := v1.PodCondition{LastTransitionTime: metav1.NewTime(noon.Add(time.Second))}
	of := func(condition *v1.PodCondition) reflect.Value { return reflect.ValueOf(condition).Elem() }
	if !equal(of(&a), of(&b)) || equal(of(&a), of(&c)) {
		t.Error("times are not compared as times")
	}
}
