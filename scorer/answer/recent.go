package answer

import "sync"

// recentPods is the number of pods from recent requests that an Answerer remembers.
const recentPods = 4096

// recent is a bounded set of pod UIDs that drops the oldest.
type recent struct {
	mu    sync.Mutex
	ring  []string
	next  int
	known map[string]struct{}
}

func newRecent(size int) *recent {
	return &recent{ring: make([]string, size), known: make(map[string]struct{}, size)}
}

func (r *recent) add(uid string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.known[uid]; ok || uid == "" {
		return
	}
	delete(r.known, r.ring[r.next])
	r.ring[r.next] = uid
	r.known[uid] = struct{}{}
	r.next = (r.next + 1) % len(r.ring)
}

func (r *recent) has(uid string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.known[uid]
	return ok
}
