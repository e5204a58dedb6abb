package extender

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// verbs answers filter and prioritize.
type verbs struct {
	config  *Config
	metrics *metrics
	load    atomic.Pointer[loadRefusal]

	limits    *limits
	exchanges sync.Pool // of *exchange

	guide atomic.Pointer[Index] // of the newest round

	jsonType []string // header value, built once
}

// loadRefusal holds the settings of RejectLoad.
type loadRefusal struct {
	// message is already escaped for JSON.
	message string
	// all allows every node of a request to be rejected.
	all bool
}

// serve answers one request and measures it.
func (h *verbs) serve(v verb, w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodPost {
		return notAllowed(w, http.MethodPost)
	}
	start := time.Now()
	got, err := h.exchange(v, w, r)
	h.metrics.observe(v, got, time.Since(start), h.config.Budget)
	return err
}

func (h *verbs) exchange(v verb, w http.ResponseWriter, r *http.Request) (result, error) {
	e, ok := h.exchanges.Get().(*exchange)
	if !ok {
		e = &exchange{}
	}
	if !h.limits.enter(&e.hold, int64(cap(e.body)), w, r) {
		h.exchanges.Put(e)
		return resultOverloaded, overloaded(w)
	}
	got, err := h.fill(v, e, w, r)
	if err == nil {
		h.limits.answered(&e.hold)
		h.write(w, r, e.out)
	}
	h.limits.leave(&e.hold)
	if err == nil && cap(e.body) <= maxPooledBytes && cap(e.out) <= maxPooledBytes && cap(e.req.names) <= maxPooledNodes {
		h.exchanges.Put(e)
	}
	return got, err
}

// overloaded returns the error for a request that is not read, or not read completely. It
// makes the connection be closed, so that the rest is never read.
func overloaded(w http.ResponseWriter) error {
	w.Header().Set("Connection", "close")
	return statusError{http.StatusServiceUnavailable, errBusy}
}

// fill leaves the reply in e.out. After an error, e must not be reused, because an
// Answerer that panicked may still hold parts of it.
func (h *verbs) fill(v verb, e *exchange, w http.ResponseWriter, r *http.Request) (got result, err error) {
	defer func() {
		if p := recover(); p != nil {
			got = resultPanic
			err = statusError{http.StatusInternalServerError, panicError{value: p, stack: debug.Stack()}}
		}
	}()
	if err := e.read(r, h.config.MaxBodyBytes, h.limits); err != nil {
		return h.unread(w, r, err)
	}
	if !h.limits.received(&e.hold) {
		return resultOverloaded, overloaded(w)
	}
	if len(e.body) == 0 {
		return resultInvalid, statusError{http.StatusBadRequest, errors.New("empty request body")}
	}
	if h.config.LogBodies {
		logBody(r, v, e.body)
	}
	err = e.req.decode(e.body, h.guide.Load())
	if v == verbFilter && h.config.NamesOnly && e.req.lacksNames(err) {
		e.out = append(e.out[:0], noNamesReply...)
		return resultInvalid, nil
	}
	if err != nil {
		return resultInvalid, statusError{http.StatusBadRequest, fmt.Errorf("decoding the request: %w", err)}
	}
	if err := r.Context().Err(); err != nil {
		// Nothing must be booked for a reply that no one reads.
		return resultGone, statusError{http.StatusServiceUnavailable, fmt.Errorf("client gone: %w", err)}
	}
	if v == verbFilter {
		return h.filter(e, r), nil
	}
	return h.prioritize(e, r), nil
}

// unread returns the result of a request whose body could not be read.
func (h *verbs) unread(w http.ResponseWriter, r *http.Request, err error) (result, error) {
	switch {
	case errors.Is(err, errBusy):
		return resultOverloaded, overloaded(w)
	case errors.Is(err, errTooLarge):
		// Discard data that a well-behaved client is still sending, so that it reads the
		// reply instead of getting a broken connection.
		_, _ = io.CopyN(io.Discard, r.Body, 2*h.config.MaxBodyBytes)
		return resultTooLarge, statusError{
			http.StatusRequestEntityTooLarge, fmt.Errorf("%w: more than %d bytes", errTooLarge, h.config.MaxBodyBytes),
		}
	}
	return resultInvalid, statusError{http.StatusBadRequest, err}
}

func (h *verbs) filter(e *exchange, r *http.Request) result {
	e.clearReasons()
	got := h.ask(e, func(round Round) { round.Filter(&e.req.pod, e.nodes, e.reasons) })
	load, none := h.load.Load(), false
	if got == resultOK && e.keepUnknown() == 0 {
		if none = load.all && e.keepUnlessLoad() == 0; !none {
			got = h.relent(e, load.all)
		}
	}
	h.metrics.countRejected(e.reasons)
	listed := h.config.ListedRejects
	if none || h.wantsFull(r) { // if no node is left, the pod's event consists of these messages
		listed = len(e.reasons)
	}
	e.out = filterReply{req: &e.req, reasons: e.reasons, listed: listed, loadMessage: load.message}.appendTo(e.out[:0])
	return got
}

// relent keeps nodes after all have been rejected: those that keepUnlessLoad kept, or all
// of them.
func (h *verbs) relent(e *exchange, kept bool) result {
	why := neutralAllRejected
	if len(e.reasons) == 1 {
		why = neutralOneNode
	}
	h.metrics.neutrals[why].Inc()
	if !kept {
		e.clearReasons()
	}
	return resultNeutral
}

func (h *verbs) prioritize(e *exchange, r *http.Request) result {
	e.clearScores()
	got := h.ask(e, func(round Round) { round.Prioritize(&e.req.pod, e.nodes, e.scores) })
	e.out = prioritizeReply{req: &e.req, scores: e.scores, full: h.wantsFull(r)}.appendTo(e.out[:0])
	return got
}

// wantsFull reports whether the reply must be complete, because of the configuration or
// because a user has added "?full" to the URL.
func (h *verbs) wantsFull(r *http.Request) bool {
	return h.config.FullReplies || r.URL.RawQuery == "full"
}

// ask runs question in a Round of the Answerer if a slot is free. Otherwise it leaves e
// unchanged, which holds the neutral answer.
func (h *verbs) ask(e *exchange, question func(Round)) result {
	if !h.limits.ask(&e.hold) {
		h.metrics.neutrals[neutralBusy].Inc()
		return resultNeutral
	}
	round := h.config.Answerer.Begin()
	if index := e.resolve(round); index != e.req.guide {
		h.guide.Store(index)
	}
	question(round)
	return resultOK
}

func (h *verbs) write(w http.ResponseWriter, r *http.Request, body []byte) {
	header := w.Header()
	header["Content-Type"] = h.jsonType
	header["Content-Length"] = []string{strconv.Itoa(len(body))}
	_ = send(w, r, body) // a client that does not read its reply is not our error
}
