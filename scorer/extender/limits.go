package extender

import (
	"math"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/evenkeel/evenkeel/scorer/extender/conns"
)

const (
	// refuseFactor times MaxConcurrent is how many requests may be in progress.
	refuseFactor = 4
	// bodiesFactor times MaxBodyBytes is how many bytes all bodies in progress
	// may take.
	bodiesFactor = 2
	// clientsShare is the part of every limit that one client may take, so that
	// no other is refused for it.
	clientsShare = 2
)

// limits bounds what requests in progress take, of all clients and of each. A
// client is an address.
//
// At a limit the client that takes most yields to one that takes less: of its
// requests the one ends that has waited longest for its client. A request of
// kube-scheduler waits for nothing: its body is there when its header is.
type limits struct {
	requests, asking, bytes limit

	mu sync.Mutex
	// holds are the requests in progress, oldest first.
	holds []*hold
}

// limit is the most of something that all clients and one of them may take. A
// client yields to one that would have no more than half as much, if that is
// what half says, else to one that would have no more.
type limit struct {
	all, each int64
	half      bool
}

func newLimit(all int64) limit { return limit{all: all, each: max(1, all/clientsShare)} }

// hold is what one request in progress takes. It belongs to limits.
type hold struct {
	client netip.Addr
	// bytes is the size of its body's buffer.
	bytes int64
	// asking reports whether the Answerer works for it.
	asking bool
	// waiting reports whether it waits for its client. Only then it may be ended,
	// by ending its connection.
	waiting bool
	// ended reports whether it had to yield.
	ended bool
	reply http.ResponseWriter
}

func newLimits(config *Config) *limits {
	// What a body's buffer may be larger than the body itself.
	const slack = 4 << 10
	l := &limits{
		requests: newLimit(int64(refuseFactor * config.MaxConcurrent)),
		asking:   newLimit(int64(config.MaxConcurrent)),
		bytes:    newLimit(bodiesFactor * (config.MaxBodyBytes + slack)),
	}
	l.bytes.half = true // large bodies would end each other all the time
	return l
}

// enter admits a request whose buffer already has some bytes, and reports
// whether there is room for it. An admitted one has to leave.
func (l *limits) enter(h *hold, bytes int64, w http.ResponseWriter, r *http.Request) bool {
	*h = hold{client: conns.ClientOf(r.RemoteAddr), waiting: true, reply: w}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.fits(h, l.requests, 1, (*hold).one) || !l.fits(h, l.bytes, bytes, (*hold).size) {
		return false
	}
	h.bytes = bytes
	l.holds = append(l.holds, h)
	return true
}

// grow reports whether the buffer of a request may take more bytes.
func (l *limits) grow(h *hold, more int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h.ended || !l.fits(h, l.bytes, more, (*hold).size) {
		return false
	}
	h.bytes += more
	return true
}

// received notes that a request has come completely, and reports whether it was
// not ended before.
func (l *limits) received(h *hold) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	h.waiting = false
	return !h.ended
}

// ask reports whether the Answerer may work for a request: always for the only
// one of a client, so that no others keep kube-scheduler from being answered.
func (l *limits) ask(h *hold) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	all, own := l.taken(h.client, (*hold).turn)
	h.asking = own == 0 || all < l.asking.all && own < l.asking.each
	return h.asking
}

// answered notes that a request only has to be sent its reply.
func (l *limits) answered(h *hold) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h.asking, h.waiting = false, true
}

// leave releases what a request took.
func (l *limits) leave(h *hold) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.holds, h); i >= 0 {
		l.holds = slices.Delete(l.holds, i, i+1)
	}
	h.reply = nil // the pool must not hold the connection
}

func (h *hold) one() int64  { return 1 }
func (h *hold) size() int64 { return h.bytes }

func (h *hold) turn() int64 {
	if h.asking {
		return 1
	}
	return 0
}

// fits reports whether a request may take more of something, and ends others
// where that makes it fit.
func (l *limits) fits(h *hold, most limit, more int64, of func(*hold) int64) bool {
	for {
		all, own := l.taken(h.client, of)
		switch {
		case own+more > most.each:
			return false
		case all+more <= most.all:
			return true
		case !l.end(own+more, most.half, of):
			return false
		}
	}
}

// taken returns how much of something all requests and those of a client take.
func (l *limits) taken(client netip.Addr, of func(*hold) int64) (all, own int64) {
	for _, h := range l.holds {
		all += of(h)
		if h.client == client {
			own += of(h)
		}
	}
	return all, own
}

// end ends the oldest waiting request of the client that takes most, if that is
// no less than what another would take, or twice that.
func (l *limits) end(other int64, twice bool, of func(*hold) int64) bool {
	if twice {
		other *= 2
	}
	most, victim := int64(math.MinInt64), -1
	for i, h := range l.holds {
		if !h.waiting || of(h) == 0 {
			continue
		}
		if _, own := l.taken(h.client, of); own > most {
			most, victim = own, i
		}
	}
	if victim < 0 || most < other {
		return false
	}
	h := l.holds[victim]
	l.holds = slices.Delete(l.holds, victim, victim+1)
	h.ended = true
	conn, past := http.NewResponseController(h.reply), time.Unix(1, 0)
	_ = conn.SetReadDeadline(past) // where that is not supported the server's own deadlines end it
	_ = conn.SetWriteDeadline(past)
	return true
}
