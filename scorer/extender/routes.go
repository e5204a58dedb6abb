package extender

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// routes finds the handler of a path. A verb is recognized by the last element of the
// path, because kube-scheduler prepends its urlPrefix. Other paths must match exactly.
type routes struct {
	filter, prioritize http.Handler
	exact              map[string]http.Handler
}

func newRoutes(h *verbs, config *Config) *routes {
	live := Text("ok\n") // a running server can answer, with or without usage data
	r := &routes{
		filter: adapter(func(w http.ResponseWriter, r *http.Request) error {
			return h.serve(verbFilter, w, r)
		}),
		prioritize: adapter(func(w http.ResponseWriter, r *http.Request) error {
			return h.serve(verbPrioritize, w, r)
		}),
		exact: map[string]http.Handler{
			"/livez": live, "/readyz": live, "/healthz": live,
			"/healthcheck": Text("OK\n"), // the path of legacy extenders
		},
	}
	if config.Status != nil {
		r.exact["/status"] = config.Status
	}
	maps.Copy(r.exact, config.Pages)
	return r
}

// ServeHTTP implements http.Handler.
func (r *routes) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	path := req.URL.Path
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
		if first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/"); slices.Contains(reports, first) {
			return statusError{http.StatusNotFound, fmt.Errorf("reports such as /%s are not served here, but at --report-address of the same process", first)}
		}
		return statusError{http.StatusNotFound, fmt.Errorf("no such path: %.80q", path)}
	}).ServeHTTP(w, req)
}

// reports are pages that name nodes and pods. They are not served on
// kube-scheduler's port, because anyone who can connect to it could read them.
var reports = []string{"nodes", "explain"}
