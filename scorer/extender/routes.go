package extender

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
)

// explainPath is the prefix of all paths that Config.Explain serves.
const explainPath = "/explain/"

// routes finds the handler of a path. A verb is recognised by the last element,
// because kube-scheduler puts its urlPrefix before it; other paths match
// exactly.
type routes struct {
	filter, prioritize http.Handler
	exact              map[string]http.Handler
	explain            http.Handler // nil without such pages
}

func newRoutes(h *verbs, config *Config) *routes {
	live := Text("ok\n") // a running server can answer, with or without usage data
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
			"/healthcheck": Text("OK\n"), // the path of legacy extenders
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
