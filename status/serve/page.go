package serve

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/evenkeel/evenkeel/scorer/extender"
	"github.com/evenkeel/evenkeel/status"
	"github.com/evenkeel/evenkeel/status/page"
)

// shownPages are the pages for browsers.
type shownPages struct{ reports *Reports }

// addPage adds the page, its files, its stream and the explanations.
func addPage(ctx context.Context, mux *http.ServeMux, reports *Reports) {
	p := shownPages{reports}
	mux.HandleFunc("GET /{$}", p.page)
	for _, file := range []string{page.Style, page.Script, page.Icon} {
		mux.HandleFunc("GET "+file, asset)
	}
	mux.Handle("GET /stream", &stream{reports: reports, stop: ctx.Done()})
	mux.HandleFunc("/explain/", p.explain)
}

// page answers with the page: as JSON if the client accepts only JSON, otherwise as HTML.
func (p shownPages) page(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Accept")
	made := page.New(p.reports.facts(r))
	if accepts(r, "application/json") && !accepts(r, "text/html") {
		data, err := json.Marshal(made)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		send(w, r, http.StatusOK, "application/json", append(data, '\n'))
		return
	}
	number, err := strconv.Atoi(r.URL.Query().Get("page"))
	if err != nil {
		number = 1
	}
	var out bytes.Buffer
	if err := made.Render(&out, page.Query{Brief: r.URL.RawQuery == "", Page: number, Find: r.URL.Query().Get("find")}); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	html(w, r, http.StatusOK, out.Bytes())
}

// explain answers with an explanation: as HTML for browsers, otherwise as JSON.
func (p shownPages) explain(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Vary", "Accept")
	if !accepts(r, "text/html") || r.Method != http.MethodGet {
		extender.Report(p.reports.Explainer.Explain).ServeHTTP(w, r)
		return
	}
	title := strings.Replace(strings.TrimPrefix(r.URL.Path, "/explain/"), "/", " ", 1)
	shown, code := &page.Explained{Title: title}, http.StatusOK
	switch answer, err := p.reports.Explainer.Explain(r); {
	case errors.Is(err, extender.ErrNotFound):
		shown.Problem, code = err.Error(), http.StatusNotFound
	case err != nil:
		shown.Problem, code = err.Error(), http.StatusServiceUnavailable
	default:
		if explanation, ok := answer.(status.Explanation); ok {
			shown = page.Explain(title, explanation, p.reports.view())
		}
	}
	var out bytes.Buffer
	if err := shown.Render(&out); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	html(w, r, code, out.Bytes())
}

// accepts reports whether a client names a media type in its Accept header.
func accepts(r *http.Request, kind string) bool {
	return strings.Contains(strings.Join(r.Header.Values("Accept"), ","), kind)
}

// html sends a page that may load only its own files.
func html(w http.ResponseWriter, r *http.Request, code int, body []byte) {
	w.Header().Set("Content-Security-Policy", page.Policy)
	send(w, r, code, "text/html; charset=utf-8", body)
}

// kinds are the media types of the page's files.
var kinds = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}

func asset(w http.ResponseWriter, r *http.Request) {
	send(w, r, http.StatusOK, kinds[path.Ext(r.URL.Path)], page.Asset(r.URL.Path))
}

// send sends a body, compressed if the client accepts compression. The body must not be
// cached, because it is outdated immediately and depends on the version.
func send(w http.ResponseWriter, r *http.Request, code int, kind string, body []byte) {
	header := w.Header()
	header.Set("Content-Type", kind)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Cache-Control", "no-store")
	header.Add("Vary", "Accept-Encoding")
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.WriteHeader(code)
		_, _ = w.Write(body)
		return
	}
	header.Set("Content-Encoding", "gzip")
	w.WriteHeader(code)
	// Compared with the default level, the output is a quarter larger but takes a third
	// of the time.
	out, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil { // impossible: the level is valid
		return
	}
	_, _ = out.Write(body)
	_ = out.Close()
}
