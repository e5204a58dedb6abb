//go:build linux && !race

// The race detector makes copying gigabytes so slow that deadlines are missed because of the
// machine, not because of the server.

package extender

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/scorer/extender/conns"
)

// Large bodies sent by others, 2 GB in total, take no more memory than the budget. Every request of
// kube-scheduler is still answered, including large ones.
func TestLargeBodiesAreBounded(t *testing.T) {
	const most = 512 << 20 // of heap, including uncollected garbage and this test's own
	listener := listen(t)
	s := newTestServer(t, Config{Answerer: newFakeAnswerer("a", "b").reject(RejectHot, "a"), Listener: listener})
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	defer func() {
		stop()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}()
	peak := newPeak(s.verbs.limits)
	flood(t, listener.Addr().String(), 8, 8, unfinished(31<<20))
	for range 5 {
		steered(t, listener.Addr().String(), 5, "")
		steered(t, listener.Addr().String(), 1, `,"x":"`+strings.Repeat("y", 3<<20)+`"`)
	}
	held, heap := peak.stop()
	t.Logf("bodies took %d MiB at most, the heap %d MiB", held>>20, heap>>20)
	if limit := s.verbs.limits.bytes.all; held > limit || held < limit/4 {
		t.Errorf("bodies took %d bytes at most, want some and no more than %d", held, limit)
	}
	if heap > most {
		t.Errorf("the heap had %d bytes at most, want no more than %d", heap, most)
	}
}

// peak tracks how much memory bodies and the heap use.
type peak struct {
	held   int64
	heap   uint64
	ending chan struct{}
	ended  chan struct{}
}

func newPeak(l *limits) *peak {
	p := &peak{ending: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		for {
			select {
			case <-p.ending:
				return
			case <-time.After(5 * time.Millisecond):
			}
			l.mu.Lock()
			held, _ := l.taken(conns.ClientOf(""), (*hold).size)
			l.mu.Unlock()
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			p.held, p.heap = max(p.held, held), max(p.heap, memory.HeapInuse)
		}
	}()
	return p
}

func (p *peak) stop() (held int64, heap uint64) {
	close(p.ending)
	<-p.ended
	return p.held, p.heap
}
