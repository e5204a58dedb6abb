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
	// refuseFactor times MaxConcurrent is the maximum number of requests in
	// progress.
	refuseFactor = 4
	// bodiesFactor times MaxBodyBytes is the maximum size of all bodies in
	// progress.
	bodiesFactor = 2
	// clientsShare is the divisor of every limit that results in one client's part, so
	// that no other client is refused because of it.
	clientsShare = 2
)

// limits bounds the resources that requests in progress take, in total and per client. A
// client is identified by its address.
//
// At a limit, the client that takes most yields to one that takes less: the one of its
// requests that has waited longest for data from the client is ended. A request of
// kube-scheduler never waits, because its body arrives with its header.
type limits struct {
	requests, asking, bytes limit

	mu sync.Mutex
	// holds lists the requests in progress, oldest first.
	holds []*hold
}

// limit is the maximum of a resource in total and for one client. A client yields to
// another one that would then have at most as much or, if half is true, at most half as
// much.
type limit struct {
	all, each int64
	half      bool
}

func newLimit(all int64) limit { return limit{all: all, each: max(1, all/clientsShare)} }

// hold records the resources that one request in progress takes. limits guards it.
type hold struct {
	client netip.Addr
	// bytes is the size of the buffer for the request's body.
	bytes int64
	// asking reports whether the Answerer is working on the request.
	asking bool
	// waiting reports whether the request waits for its client. Only then may
	// it be ended, by closing its connection.
	waiting bool
	// ended reports whether the request had to yield.
	ended bool
	reply http.ResponseWriter
}

func newLimits(config *Config) *limits {
	// slack is the number of bytes by which a body's buffer may exceed the body.
	const slack = 4 << 10
	l := &limits{
		requests: newLimit(int64(refuseFactor * config.MaxConcurrent)),
		asking:   newLimit(int64(config.MaxConcurrent)),
		bytes:    newLimit(bodiesFactor * (config.MaxBodyBytes + slack)),
	}
	l.bytes.half = true // otherwise large bodies would keep ending each other
	return l
}

// enter admits a request whose buffer already holds some bytes, and reports
// whether limits allow that. An admitted request must call leave.
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

// received records that a request has arrived completely, and reports whether
// it had not been ended before.
func (l *limits) received(h *hold) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	h.waiting = false
	return !h.ended
}

// ask reports whether the Answerer may work on a request. It always may if the
// client has no other request, so that other clients cannot keep kube-scheduler
// from being answered.
func (l *limits) ask(h *hold) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	all, own := l.taken(h.client, (*hold).turn)
	h.asking = own == 0 || all < l.asking.all && own < l.asking.each
	return h.asking
}

// answered records that only the reply of a request is left to be sent.
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
	h.reply = nil // the pool must not keep the connection alive
}

func (h *hold) one() int64  { return 1 }
func (h *hold) size() int64 { return h.bytes }

func (h *hold) turn() int64 {
	if h.asking {
		return 1
	}
	return 0
}

// fits reports whether a request may take more of a resource. It ends other requests if
// that frees enough.
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

// taken returns the amounts of a resource that all requests and those of one client take.
func (l *limits) taken(client netip.Addr, of func(*hold) int64) (all, own int64) {
	for _, h := range l.holds {
		all += of(h)
		if h.client == client {
			own += of(h)
		}
	}
	return all, own
}

// end ends the oldest waiting request of the client that takes most. That client must
// take at least other, the amount that the requesting client would take, or at least
// twice as much if twice is true.
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
	_ = conn.SetReadDeadline(past) // if this is unsupported, the server's own deadlines end the request
	_ = conn.SetWriteDeadline(past)
	return true
}
