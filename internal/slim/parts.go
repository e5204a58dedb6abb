package slim

import (
	"maps"
	"reflect"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// The functions below make a part of a pod that of the last one where they are
// equal, and else the last one that of the pod.

// mostTemplates bounds what is remembered of templates, and mostNames the pool
// of names. Beyond it all is forgotten: pods keep what they share, and those
// that come later share among themselves.
const (
	mostTemplates = 16384
	mostNames     = 65536
)

func shareWord[T ~string](pod, last *T) {
	if *pod == *last {
		*pod = *last // the same letters in one place
		return
	}
	*last = *pod
}

func shareWords(pod, last *map[string]string) {
	if *pod != nil && *last != nil && maps.Equal(*pod, *last) {
		*pod = *last
		return
	}
	*last = *pod
}

func shareAmounts(pod, last *v1.ResourceList) {
	if *pod != nil && *last != nil && maps.Equal(*pod, *last) {
		*pod = *last
		return
	}
	*last = *pod
}

func shareValue[T comparable](pod, last **T) {
	if *pod != nil && *last != nil && **pod == **last {
		*pod = *last
		return
	}
	*last = *pod
}

func shareOne[T any](pod, last **T) {
	if *pod != nil && *last != nil && same(*pod, *last) {
		*pod = *last
		return
	}
	*last = *pod
}

func shareList[T any](pod, last *[]T) {
	if len(*pod) > 0 && len(*pod) == len(*last) && equality.Semantic.DeepEqual(*pod, *last) {
		*pod = *last
		return
	}
	*last = *pod
}

// shareEqual is shareList of what == tells apart.
func shareEqual[T comparable](pod, last *[]T) {
	if len(*pod) > 0 && slices.Equal(*pod, *last) {
		*pod = *last
		return
	}
	*last = *pod
}

// shareMost is shareList with the usual fields compared by themselves: to
// compare all of them by reflection costs several times what decoding the pod
// did.
func shareMost[T any](pod, last *[]T, room *pair[T], usual func(a, b *T) bool) {
	equal := len(*pod) > 0 && len(*pod) == len(*last)
	for i := 0; equal && i < len(*pod); i++ {
		equal = room.equal(&(*pod)[i], &(*last)[i], usual)
	}
	if equal {
		*pod = *last
		return
	}
	*last = *pod
}

// pair is room for two values that are compared.
type pair[T any] struct{ a, b T }

// equal compares by usual, which empties the fields that it has compared, and
// then what is left.
func (p *pair[T]) equal(a, b *T, usual func(a, b *T) bool) bool {
	p.a, p.b = *a, *b
	equal := usual(&p.a, &p.b) && same(&p.a, &p.b)
	*p = pair[T]{}
	return equal
}

// same compares whatever is in two structs; mostly there is nothing.
func same[T any](a, b *T) bool {
	if reflect.ValueOf(a).Elem().IsZero() && reflect.ValueOf(b).Elem().IsZero() {
		return true
	}
	return equality.Semantic.DeepEqual(*a, *b)
}

func equalPointees[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// pool holds one copy of each of a number of strings.
type pool struct {
	mu    sync.Mutex
	known map[string]string
}

func (p *pool) one(s string) string {
	if s == "" {
		return ""
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known, ok := p.known[s]; ok {
		return known
	}
	if len(p.known) >= mostNames || p.known == nil {
		p.known = map[string]string{}
	}
	p.known[s] = s
	return s
}
