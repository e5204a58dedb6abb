package extender

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Report is a page that returns a value to be served as JSON. The request's
// query may narrow it down.
type Report func(r *http.Request) (any, error)

// ErrNotFound is wrapped by a Report's error if the requested object does not
// exist, as opposed to being unavailable now.
var ErrNotFound = errors.New("not found")

// ServeHTTP implements http.Handler.
func (report Report) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	adapter(report.serve).ServeHTTP(w, r)
}

func (report Report) serve(w http.ResponseWriter, r *http.Request) error {
	if err := readOnly(w, r); err != nil {
		return err
	}
	value, err := report(r)
	if errors.Is(err, ErrNotFound) {
		return statusError{http.StatusNotFound, err}
	}
	if err != nil {
		return statusError{http.StatusServiceUnavailable, err}
	}
	body, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding the report: %w", err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, err = w.Write(append(body, '\n'))
	return err
}

// Text returns a page with constant content.
func Text(text string) http.Handler {
	return adapter(func(w http.ResponseWriter, r *http.Request) error {
		if err := readOnly(w, r); err != nil {
			return err
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, err := io.WriteString(w, text)
		return err
	})
}

func readOnly(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return notAllowed(w, http.MethodGet, http.MethodHead)
	}
	return nil
}
