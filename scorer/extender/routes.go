package extender

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
)

// Report returns a value to be shown as JSON; the request's query may narrow it
// down.
type Report func(r *http.Request) (any, error)

// ErrNotFound is what a Report's error wraps when what was asked for is not
// there, as opposed to not being told now.
var ErrNotFound = errors.New("not found")

// explainPath is what everything that is explained is found below.
const explainPath = "/explain/"

// routes finds the handler of a path. The verbs are known by the last element,
// because kube-scheduler puts its urlPrefix before it; the rest is exact.
type routes struct {
	filter, prioritize http.Handler
	exact              map[string]http.Handler
	explain            http.Handler // nil where nothing is explained
}

func newRoutes(h *verbs, reports *Config) *routes {
	live := Text("ok\n") // who can be asked can answer, with or without usage data
	r := &routes{
		filter: adapter(func(w http.ResponseWriter, r *http.Request) error {
			return h.serve(verbFilter, w, r)
		}),
		prioritize: adapter(func(w http.ResponseWriter, r *http.Request) error {
			return h.serve(verbPrioritize, w, r)
		}),
		exact: map[string]http.Handler{
			"/livez": live, "/readyz": live, "/healthz": live,
			"/healthcheck": Text("OK\n"), // where earlier extenders had it
		},
	}
	for path, report := range map[string]Report{"/nodes": reports.Nodes, "/status": reports.Status, "/shadow": reports.Shadow} {
		if report != nil {
			r.exact[path] = report.handler()
		}
	}
	maps.Copy(r.exact, reports.Pages)
	if reports.Explain != nil {
		r.explain = reports.Explain.handler()
	}
	return r
}

// ServeHTTP implements http.Handler.
func (r *routes) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	path := req.URL.Path
	if r.explain != nil && strings.HasPrefix(path, explainPath) {
		r.explain.ServeHTTP(w, req)
		return
	}
	switch path[strings.LastIndexByte(path, '/')+1:] {
	case "filter":
		r.filter.ServeHTTP(w, req)
		return
	case "prioritize":
		r.prioritize.ServeHTTP(w, req)
		return
	}
	if h, ok := r.exact[path]; ok {
		h.ServeHTTP(w, req)
		return
	}
	adapter(func(http.ResponseWriter, *http.Request) error {
		return statusError{http.StatusNotFound, fmt.Errorf("no such path: %.80q", path)}
	}).ServeHTTP(w, req)
}

// Text is a page that never changes.
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

func (report Report) handler() http.Handler {
	return adapter(func(w http.ResponseWriter, r *http.Request) error {
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
	})
}
