package process

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestNodePages(t *testing.T) {
	two := func() (string, []string, error) { return "presure", []string{"a", "b"}, nil }
	none := func() (string, []string, error) { return "presure", []string{}, nil }
	broken := func() (string, []string, error) { return "", nil, errors.New("no nodes today") }
	const asJSON, asText = "application/json", "text/plain; charset=utf-8"
	cases := map[string]struct {
		labelled         func() (string, []string, error)
		method, path     string
		code             int
		body, bodyOfType string
	}{
		"two nodes":     {two, "GET", "/nodes", 200, `{"type":"Label type=presure Nodes","num":2,"node_names":["a","b"]}`, asJSON},
		"no node":       {none, "GET", "/nodes", 200, `{"type":"Label type=presure Nodes","num":0,"node_names":[]}`, asJSON},
		"unknown nodes": {broken, "GET", "/nodes", 500, "no nodes today\n", asText},
		"alive":         {broken, "GET", "/status", 200, "ok", asText},
		"another page":  {two, "GET", "/", 404, "404 page not found\n", asText},
		"another verb":  {two, "POST", "/nodes", 405, "Method Not Allowed\n", asText},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			recorder := httptest.NewRecorder()
			NodePages(tc.labelled).ServeHTTP(recorder, httptest.NewRequest(tc.method, tc.path, http.NoBody))
			if recorder.Code != tc.code || recorder.Header().Get("Content-Type") != tc.bodyOfType {
				t.Errorf("%d, %q; want %d, %q", recorder.Code, recorder.Header().Get("Content-Type"), tc.code, tc.bodyOfType)
			}
			if diff := cmp.Diff(tc.body, recorder.Body.String()); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}
