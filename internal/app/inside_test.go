package app

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/scorer/extender"
	"github.com/evenkeel/evenkeel/scorer/plugin"
)

// insideOf creates the half that runs inside kube-scheduler, from the text of a policy and for an
// API server.
func insideOf(t *testing.T, host, text string) (*Inside, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return NewInside(t.Context(), plugin.SideConfig{
		Name: "test", PolicyFile: path, REST: &rest.Config{Host: host, ContentConfig: rest.ContentConfig{ContentType: "application/vnd.kubernetes.protobuf"}},
	})
}

const measuredPolicy = `
apiVersion: evenkeel.io/v1alpha1
kind: LoadPolicy
scoring:
  measured: {formula: MinMax, terms: [{metric: cpu, window: avg_5m, weight: 1}], message: too much load, rejectAll: true}
`

// The half sends no request to the API server before it runs.
func TestInside(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the API server was asked for %s", r.URL.Path) }))
	defer server.Close()
	in, err := insideOf(t, server.URL, measuredPolicy)
	if err != nil {
		t.Fatal(err)
	}
	if in.Answerer() == nil {
		t.Error("there is no Answerer")
	}
	if message, all := in.Refusal(); message != "too much load" || !all {
		t.Errorf("refusal %q, all %v", message, all)
	}
}

// kube-scheduler starts even if the API server is unreachable. Answers are neutral, as they are
// before the first observation.
func TestInsideWithoutTheAPIServer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	in, err := insideOf(t, server.URL, measuredPolicy)
	if err != nil {
		t.Fatal(err)
	}
	reasons := make([]extender.Reject, 1)
	in.Answerer().Begin().Filter(&extender.Pod{Namespace: "web", Name: "new", UID: "1"}, []cluster.NodeIndex{-1}, reasons)
	if reasons[0] != extender.RejectNone {
		t.Errorf("a node is rejected without knowing it: %v", reasons[0])
	}
}

// A wrong policy is an error whether or not the API server answers.
func TestInsideWithAWrongPolicy(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	for name, tc := range map[string]struct{ text, want string }{
		"an unknown field": {"apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\nlinse: {}\n", "linse"},
		"empty":            {"", "no document"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := insideOf(t, server.URL, tc.text)
			if exit.Code(err) != exit.Misuse || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
