package slim

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// mostTemplates bounds what is remembered of templates, and mostWords the pool
// of words. Beyond it all is forgotten: pods keep what they share, and those
// that come later share among themselves.
const (
	mostTemplates = 16384
	mostWords     = 65536
)

// template tells the revisions of one owner apart. A Job's pods have the Job
// alone.
type template struct {
	owner types.UID
	hash  string
}

// templates remember what the pods of a template last looked like.
type templates struct {
	mu   sync.Mutex
	last map[template]*v1.Pod
	room comparison
}

// share gives a pod what it has in common with the pod of its template that
// came before it, field by field: pods of one template differ in some fields
// and are equal in the others.
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
	t.room.share(&pod.ObjectMeta, &last.ObjectMeta)
	t.room.share(&pod.Spec, &last.Spec)
	t.room.share(&pod.Status, &last.Status)
}

func hash(labels map[string]string) string {
	if of, ok := labels["pod-template-hash"]; ok {
		return of
	}
	return labels["controller-revision-hash"]
}

// message is nearly every struct in a pod: it can write itself as the API server
// sends it.
type message interface {
	Size() int
	MarshalToSizedBuffer(into []byte) (int, error)
}

// comparison compares values. Messages are written side by side into its room:
// to compare them by reflection costs several times what decoding the pod did.
type comparison struct{ a, b []byte }

// share makes each field of a part of a pod that of the last one where they are
// equal, and else the last one's that of the pod.
func (c *comparison) share(pod, last any) {
	of, before := reflect.ValueOf(pod).Elem(), reflect.ValueOf(last).Elem()
	for i := range of.NumField() {
		if mine, other := of.Field(i), before.Field(i); c.equal(mine, other) {
			mine.Set(other)
		} else {
			other.Set(mine)
		}
	}
}

// equal reports whether two values are surely equal. What has no elements
// counts as different: there is nothing to share.
func (c *comparison) equal(a, b reflect.Value) bool {
	switch a.Kind() {
	case reflect.Pointer:
		return !a.IsNil() && !b.IsNil() && c.equal(a.Elem(), b.Elem())
	case reflect.Map:
		return a.Len() > 0 && equalMaps(a.Interface(), b.Interface())
	case reflect.Slice:
		for i := range min(a.Len(), b.Len()) {
			if !c.equal(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return a.Len() > 0 && a.Len() == b.Len()
	case reflect.Struct:
		return c.equalStructs(a.Addr().Interface(), b.Addr().Interface())
	default:
		return a.Equal(b)
	}
}

func equalMaps(a, b any) bool {
	if words, ok := a.(map[string]string); ok {
		other, ok := b.(map[string]string)
		return ok && maps.Equal(words, other)
	}
	return equality.Semantic.DeepEqual(a, b)
}

func (c *comparison) equalStructs(a, b any) bool {
	x, ok := a.(message)
	y, both := b.(message)
	if !ok || !both {
		return equality.Semantic.DeepEqual(a, b)
	}
	size := x.Size()
	if y.Size() != size {
		return false
	}
	c.a, c.b = slices.Grow(c.a[:0], size)[:size], slices.Grow(c.b[:0], size)[:size]
	_, err := x.MarshalToSizedBuffer(c.a)
	_, other := y.MarshalToSizedBuffer(c.b)
	return err == nil && other == nil && bytes.Equal(c.a, c.b)
}

// pool holds one copy of each of a number of words.
type pool struct {
	mu    sync.Mutex
	known map[string]string
}

// one returns the copy of a word: every pod that is decoded brings words of its
// own.
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
