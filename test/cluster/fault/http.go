package fault

import (
	"bytes"
	"net/http"
	"strconv"
	"time"
)

// hugeBytes is the amount of white space at the beginning of Huge.
const hugeBytes = 200 << 20

// Handler applies the current fault to a server's answers. Faults that depend on the
// format change nothing.
func Handler(current func(*http.Request) Fault, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch f := current(r); f.Kind {
		case Down:
			hangUp(w)
		case Slow:
			if waited(r, f.Delay) {
				next.ServeHTTP(w, r)
			}
		case Status:
			http.Error(w, http.StatusText(f.Code), f.Code)
		case Truncated:
			truncate(w, r, next)
		case Huge:
			flood(w, r, next)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// hangUp closes the connection. This works only with HTTP/1.1.
func hangUp(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = connection.Close()
}

// waited waits and reports whether the client is still connected afterwards.
func waited(r *http.Request, delay time.Duration) bool {
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-r.Context().Done():
		return false
	case <-timer.C:
		return true
	}
}

func truncate(w http.ResponseWriter, r *http.Request, next http.Handler) {
	answer := Record(next, r)
	copyHeader(w, answer)
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes()[:answer.Body.Len()/2]) // an error means that the client has disconnected
}

func flood(w http.ResponseWriter, r *http.Request, next http.Handler) {
	answer := Record(next, r)
	copyHeader(w, answer)
	w.WriteHeader(answer.Code)
	padding := bytes.Repeat([]byte{' '}, 1<<20)
	for sent := 0; sent < hugeBytes; sent += len(padding) {
		if _, err := w.Write(padding); err != nil {
			return
		}
	}
	_, _ = w.Write(answer.Body.Bytes()) // an error means that the client has disconnected
}

// Answer is the response that a handler wrote.
type Answer struct {
	Code   int
	Body   bytes.Buffer
	header http.Header
}

// Record records a handler's uncompressed answer in memory.
func Record(next http.Handler, r *http.Request) *Answer {
	answer := &Answer{Code: http.StatusOK, header: http.Header{}}
	plain := r.Clone(r.Context())
	plain.Header.Del("Accept-Encoding")
	next.ServeHTTP(answer, plain)
	return answer
}

// Header implements http.ResponseWriter.
func (a *Answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *Answer) WriteHeader(code int) { a.Code = code }

// Write implements http.ResponseWriter.
func (a *Answer) Write(p []byte) (int, error) { return a.Body.Write(p) }

// Send sends the answer with another body.
func (a *Answer) Send(w http.ResponseWriter, body []byte) {
	copyHeader(w, a)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(a.Code)
	_, _ = w.Write(body) // an error means that the client has disconnected
}

// copyHeader omits the content length, which the caller may change.
func copyHeader(w http.ResponseWriter, a *Answer) {
	for name, values := range a.header {
		if name != "Content-Length" {
			w.Header()[name] = values
		}
	}
}
