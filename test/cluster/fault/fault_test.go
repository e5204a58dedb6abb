package fault_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster/fault"
)

func TestHandler(t *testing.T) {
	const truth = `{"value":1}`
	tests := map[string]struct {
		fault fault.Fault
		code  int
		body  string
	}{
		"none passes":                       {fault: fault.Fault{}, code: 200, body: truth},
		"a fault that needs the format too": {fault: fault.OfKind(fault.NaN), code: 200, body: truth},
		"late answers are true":             {fault: fault.SlowBy(time.Millisecond), code: 200, body: truth},
		"a status comes alone":              {fault: fault.WithStatus(401), code: 401, body: "Unauthorized\n"},
		"half of the text":                  {fault: fault.OfKind(fault.Truncated), code: 200, body: truth[:len(truth)/2]},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			code, body, err := ask(t.Context(), t, tc.fault, truth)
			if err != nil || code != tc.code || body != tc.body {
				t.Errorf("answered %d %q, %v, want %d %q", code, body, err, tc.code, tc.body)
			}
		})
	}
}

func TestDownGivesNoAnswer(t *testing.T) {
	if code, _, err := ask(t.Context(), t, fault.OfKind(fault.Down), "x"); err == nil {
		t.Errorf("answered %d, want none", code)
	}
}

func TestSlowEndsWithItsClient(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if code, _, err := ask(ctx, t, fault.SlowBy(time.Hour), "x"); err == nil {
		t.Errorf("answered %d, want none", code)
	}
}

func TestHugeEndsWithTheTruth(t *testing.T) {
	_, body, err := ask(t.Context(), t, fault.OfKind(fault.Huge), "true")
	if err != nil || len(body) < 200_000_000 || !strings.HasSuffix(body, " true") {
		t.Errorf("answered %d bytes, %v, want at least 200 MB that end with the truth", len(body), err)
	}
}

func ask(ctx context.Context, t *testing.T, f fault.Fault, truth string) (int, string, error) {
	t.Helper()
	server := httptest.NewServer(fault.Handler(
		func(*http.Request) fault.Fault { return f },
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, truth) }),
	))
	t.Cleanup(server.Close)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}
