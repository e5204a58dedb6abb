package slim

import (
	"maps"
	"reflect"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// mostTemplates is the maximum number of remembered templates, mostWords the maximum
// number of pooled words. Beyond that, everything is dropped: pods keep what they share,
// and later pods share new copies.
const (
	mostTemplates = 16384
	mostWords     = 65536
)

// template identifies one revision of an owner. A Job's pods are identified by
// the Job alone.
type template struct {
	owner types.UID
	hash  string
}

// templates remembers the fields of the last pod of each template.
type templates struct {
	mu   sync.Mutex
	last map[template]*v1.Pod
}

// share makes a pod share equal fields with the previous pod of its template;
// pods of one template differ only in some fields.
func (t *templates) share(pod *v1.Pod) {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return
	}
	key := template{owner: owner.UID, hash: hash(pod.Labels)}
	t.mu.Lock()
	defer t.mu.Unlock()
	last := t.last[key]
	if last == nil {
		if len(t.last) >= mostTemplates || t.last == nil {
			t.last = map[template]*v1.Pod{}
		}
		last = &v1.Pod{}
		t.last[template{owner: types.UID(string(owner.UID)), hash: key.hash}] = last
	}
	share(&pod.ObjectMeta, &last.ObjectMeta)
	share(&pod.Spec, &last.Spec)
	share(&pod.Status, &last.Status)
}

func hash(labels map[string]string) string {
	if of, ok := labels["pod-template-hash"]; ok {
		return of
	}
	return labels["controller-revision-hash"]
}

// share replaces each field in a part of a pod by the corresponding field of the last pod
// if the two are equal. Otherwise, or if the field is empty, it stores the field in the
// last pod.
func share(pod, last any) {
	of, before := reflect.ValueOf(pod).Elem(), reflect.ValueOf(last).Elem()
	for i := range of.NumField() {
		if mine, other := of.Field(i), before.Field(i); !mine.IsZero() && equal(mine, other) {
			mine.Set(other)
		} else {
			other.Set(mine)
		}
	}
}

// equal reports whether two values are certainly equal. It never writes to the values,
// because they are already stored and read concurrently.
func equal(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Pointer:
		return a.Pointer() == b.Pointer() || !a.IsNil() && !b.IsNil() && equal(a.Elem(), b.Elem())
	case reflect.Map:
		return a.Len() == b.Len() && equalMaps(a.Interface(), b.Interface())
	case reflect.Slice:
		for i := range min(a.Len(), b.Len()) {
			if !equal(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return a.Len() == b.Len()
	case reflect.Struct:
		return equalStructs(a, b)
	default:
		return a.Equal(b)
	}
}

func equalMaps(a, b any) bool {
	switch a := a.(type) {
	case map[string]string:
		return maps.Equal(a, b.(map[string]string))
	case v1.ResourceList:
		return maps.Equal(a, b.(v1.ResourceList))
	default:
		return equality.Semantic.DeepEqual(a, b)
	}
}

// equalStructs compares field by field, except for times and quantities, some
// of whose fields do not matter.
func equalStructs(a, b reflect.Value) bool {
	switch x := a.Addr().Interface().(type) {
	case *resource.Quantity:
		return *x == *b.Addr().Interface().(*resource.Quantity)
	case *metav1.Time:
		return x.Time.Equal(b.Addr().Interface().(*metav1.Time).Time)
	}
	for i := range a.NumField() {
		if !equal(a.Field(i), b.Field(i)) {
			return false
		}
	}
	return true
}

// pool holds one copy of each word.
type pool struct {
	mu    sync.Mutex
	known map[string]string
}

// one returns the shared copy of a word, because decoding makes a new one for
// every pod.
func one[T ~string](p *pool, word T) T {
	if word == "" {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.known[string(word)]; ok {
		return T(known)
	}
	if len(p.known) >= mostWords || p.known == nil {
		p.known = map[string]string{}
	}
	p.known[string(word)] = string(word)
	return word
}
