package admission

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Served only reads whether the API server has the kind of keys. It does not try to create
// anything.
func TestServed(t *testing.T) {
	for name, tc := range map[string]struct {
		code int
		body string
		want bool
	}{
		"it has":           {http.StatusOK, `{"kind":"APIResourceList","resources":[{"name":"others"},{"name":"steerings"}]}`, true},
		"other kinds":      {http.StatusOK, `{"kind":"APIResourceList","resources":[{"name":"others"}]}`, false},
		"no such group":    {http.StatusNotFound, `404 page not found`, false},
		"something else":   {http.StatusOK, `<html>`, false},
		"it is overloaded": {http.StatusInternalServerError, `{}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet || r.URL.Path != "/apis/evenkeel.io/v1alpha1" {
					t.Errorf("%s %s", r.Method, r.URL)
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(tc.code)
				_, _ = w.Write([]byte(tc.body))
			}))
			defer server.Close()
			client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			if got := Served(t.Context(), client.Discovery()); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
