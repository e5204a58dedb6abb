package extender

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
)

// explainPath is what everything that is explained is found below.
const explainPath = "/explain/"

// routes finds the handler of a path. The verbs are known by the last element,
// because kube-scheduler puts its urlPrefix before it; the rest is exact.
type routes struct {
	filter, prioritize http.Handler
	exact              map[string]http.Handler
	explain            http.Handler // nil where nothing is explained
}

func newRoutes(h *verbs, config *Config) *routes {
	live := Text("ok\n") // who can be asked can answer, with or without usage data
	r := &routes{
		explain: config.Explain,
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
	for path, report := range map[string]http.Handler{"/nodes": config.Nodes, "/status": config.Status, "/shadow": config.Shadow} {
		if report != nil {
			r.exact[path] = report
		}
	}
	maps.Copy(r.exact, config.Pages)
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
