package apifault

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/evenkeel/evenkeel/test/cluster/fault"
)

// ServeHTTP passes a request on or makes it fail.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	info, err := p.infos.NewRequestInfo(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch effect := p.decide(info); effect.Kind {
	case Reset:
		reset()
	case Silent:
		<-r.Context().Done()
	case Status:
		refuse(w, effect)
	case Lost:
		_ = fault.Record(p.reverse, r) // executed, but the response is lost
		reset()
	case Slow:
		if waited(r.Context(), effect.Delay) {
			p.pass(w, r, info)
		}
	default:
		p.pass(w, r, info)
	}
}

func (p *Proxy) decide(info *request.RequestInfo) Effect {
	p.mu.Lock()
	defer p.mu.Unlock()
	effect := p.rules.effect(info)
	p.seen[effect.Kind]++
	return effect
}

// pass passes a request on. Watches can be closed while they are served.
func (p *Proxy) pass(w http.ResponseWriter, r *http.Request, info *request.RequestInfo) {
	if info.Verb == "watch" {
		ctx, cancel := context.WithCancel(r.Context())
		r = r.WithContext(ctx)
		p.mu.Lock()
		p.watches[r] = cancel
		p.mu.Unlock()
		defer func() {
			cancel()
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.watches, r)
		}()
	}
	p.reverse.ServeHTTP(w, r)
}

// reset ends a request like a lost connection.
func reset() {
	panic(http.ErrAbortHandler) //nolint:forbidigo // it is net/http's way to end one stream of HTTP/2
}

// refuse answers with an HTTP error in the API server's format.
func refuse(w http.ResponseWriter, effect Effect) {
	if effect.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(effect.RetryAfter.Seconds())))
	}
	var status *apierrors.StatusError
	switch effect.Code {
	case http.StatusTooManyRequests: // priority and fairness responds with plain text
		http.Error(w, "Too many requests, please try again later.", effect.Code)
		return
	case http.StatusGone:
		status = apierrors.NewResourceExpired("too old resource version: by a fault")
	default:
		status = apierrors.NewInternalError(fmt.Errorf("status %d by a fault", effect.Code))
		status.ErrStatus.Code = int32(effect.Code) // an HTTP status fits
	}
	body, err := json.Marshal(status.Status())
	if err != nil {
		http.Error(w, err.Error(), effect.Code)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(effect.Code)
	_, _ = w.Write(body) // an error means that the client has disconnected
}

// waited waits and reports whether the client is still connected afterwards.
func waited(ctx context.Context, delay time.Duration) bool {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// tooOldWords occurs, in every encoding, in the API server's response to a watch from a
// revision that it no longer has.
var tooOldWords = []byte("too old resource version")

// listen searches the responses to watches for tooOldWords.
func (p *Proxy) listen(response *http.Response) error {
	if response.Request.URL.Query().Has("watch") {
		response.Body = &listener{ReadCloser: response.Body, proxy: p}
	}
	return nil
}

type listener struct {
	io.ReadCloser
	proxy *Proxy
}

// Read implements io.Reader. An error is the first and only event in its stream, so it
// arrives in one piece.
func (l *listener) Read(b []byte) (int, error) {
	n, err := l.ReadCloser.Read(b)
	if bytes.Contains(b[:n], tooOldWords) {
		l.proxy.mu.Lock()
		l.proxy.tooOld++
		l.proxy.mu.Unlock()
	}
	return n, err
}
