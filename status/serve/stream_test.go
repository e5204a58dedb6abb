package serve

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/ledger"
)

// wire is the client's end of a stream. It records what was written and the deadline of each write.
type wire struct {
	header http.Header

	mu        sync.Mutex
	written   []string
	deadlines []time.Duration // relative to the write
	deadline  time.Time
	// stuck makes each write fail as if the client had not read in time.
	stuck bool
}

func (w *wire) Header() http.Header { return w.header }
func (w *wire) WriteHeader(int)     {}
func (w *wire) Flush()              {}

func (w *wire) SetWriteDeadline(at time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deadline = at
	return nil
}

func (w *wire) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stuck {
		return 0, os.ErrDeadlineExceeded
	}
	event, _, _ := strings.Cut(string(data), "\n")
	w.written, w.deadlines = append(w.written, event), append(w.deadlines, time.Until(w.deadline))
	return len(data), nil
}

// told returns what was written since the last call.
func (w *wire) told() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	told := w.written
	w.written = nil
	return told
}

func (w *wire) stick() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stuck = true
}

// followed is a stream with one client. ended is closed when the stream ends.
type followed struct {
	*wire
	ended chan struct{}
}

func follow(ctx context.Context, s *stream) *followed {
	f := &followed{wire: &wire{header: http.Header{}}, ended: make(chan struct{})}
	go func() {
		defer close(f.ended)
		s.ServeHTTP(f.wire, httptest.NewRequestWithContext(ctx, http.MethodGet, "http://localhost/stream", nil))
	}()
	synctest.Wait()
	return f
}

func (f *followed) over() bool {
	synctest.Wait()
	select {
	case <-f.ended:
		return true
	default:
		return false
	}
}

// A client is notified once of each observation, and of moves at most once a second. It receives
// something at least every 15 s, and each write has a deadline of 5 s.
func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reports, stop := reporting(t), make(chan struct{})
		s := &stream{reports: reports, stop: stop}
		f := follow(t.Context(), s)
		expect := func(after time.Duration, want ...string) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if diff := cmp.Diff(want, f.told()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		move := func(uid string) {
			reports.Observer.Ledger().Record(time.Now(), ledger.Intent{Namespace: "shop", Pod: uid, PodUID: uid, From: "n1", To: "n2", TTL: time.Hour})
		}
		expect(time.Second, ": following")
		expect(13 * time.Second)
		expect(2*time.Second, ": nothing new")
		reports.Observer.Sample(t.Context())
		expect(time.Second, "event: observation")
		move("a")
		expect(time.Second, "event: moves")
		for _, uid := range []string{"b", "c", "d", "e"} { // within a second
			move(uid)
			time.Sleep(100 * time.Millisecond)
		}
		expect(2*time.Second, "event: moves", "event: moves")
		move("f")
		reports.Observer.Sample(t.Context()) // this reports both
		expect(5*time.Second, "event: observation")
		close(stop)
		if !f.over() || s.clients.Load() != 0 {
			t.Errorf("the stream continues when the process stops; %d clients", s.clients.Load())
		}
		for i, d := range f.deadlines {
			if d != writeWithin {
				t.Errorf("write %d had %v", i, d)
			}
		}
	})
}

// A stream ends when its client disconnects or stops reading.
func TestStreamEndsWithItsClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stream{reports: reporting(t), stop: make(chan struct{})}
		ctx, leave := context.WithCancel(t.Context())
		leaves, sticks := follow(ctx, s), follow(t.Context(), s)
		if leaves.over() || sticks.over() || s.clients.Load() != 2 {
			t.Fatalf("%d clients follow", s.clients.Load())
		}
		leave()
		if !leaves.over() {
			t.Error("the stream continues without its client")
		}
		sticks.stick()
		time.Sleep(silentFor + time.Second)
		if !sticks.over() || s.clients.Load() != 0 {
			t.Errorf("the stream continues for a client that reads nothing; %d clients", s.clients.Load())
		}
	})
}

// The number of clients of a process is limited. Further clients are rejected and can retry.
func TestStreamsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		s := &stream{reports: reporting(t), stop: stop}
		ctx, leave := context.WithCancel(t.Context())
		first := follow(ctx, s)
		all := []*followed{first}
		for range maxStreams - 1 {
			all = append(all, follow(t.Context(), s))
		}
		ask := func() int {
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequestWithContext(gone, http.MethodGet, "http://localhost/stream", nil))
			return w.Code
		}
		if code := ask(); code != http.StatusServiceUnavailable {
			t.Errorf("client %d gets %d", maxStreams+1, code)
		}
		leave()
		if !first.over() || ask() != http.StatusOK {
			t.Error("no client can take the place of one that left")
		}
		close(stop)
		for i, f := range all {
			if !f.over() {
				t.Errorf("client %d is followed on", i)
			}
		}
	})
}
