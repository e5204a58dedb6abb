package plugin

import (
	"sync"
	"sync/atomic"
)

// once computes an answer once and keeps it.
type once[T any] struct {
	sync  sync.Once
	known atomic.Bool
	value T
}

func (o *once[T]) do(find func() T) T {
	o.sync.Do(func() {
		o.value = find()
		o.known.Store(true)
	})
	return o.value
}

// get returns the answer if it is already known, without computing it.
func (o *once[T]) get() (value T, known bool) {
	if !o.known.Load() {
		return value, false
	}
	return o.value, true
}
