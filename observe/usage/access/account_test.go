package access

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// office grants tokens of a ServiceAccount, each valid for an hour, and counts
// the requests.
type office struct {
	now   func() time.Time
	token string
	err   error
	asked int
}

func (o *office) request(_ context.Context, serviceAccount string) (string, time.Time, error) {
	o.asked++
	if o.err != nil {
		return "", time.Time{}, o.err
	}
	return serviceAccount + "-" + o.token, o.now().Add(time.Hour), nil
}

var (
	reader    = Account{Name: "reader", Remedy: "bind it a role"}
	accounts  = schema.GroupResource{Resource: "serviceaccounts"}
	forbidden = apierrors.NewForbidden(accounts, "reader", errors.New("no rule"))
	errAway   = errors.New("connection refused")
)

// as is a transport that identifies itself by name.
type as string

func (a as) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	w.Header().Set("By", string(a)+" "+r.Header.Get("Authorization"))
	return w.Result(), nil
}

// Another ServiceAccount's token is renewed after half its lifetime, used until it expires if it
// cannot be renewed, and not requested too often. Without a token, nothing is sent. If the API
// server refuses to issue one, the error ends with the remedy.
func TestTokenOfAnotherServiceAccount(t *testing.T) {
	now := newClock()
	office := &office{now: now.time}
	env := &Env{Now: now.time, RequestToken: office.request}
	transport := env.AsAccount(reader, as("bare"))
	steps := []struct {
		what  string
		after time.Duration
		token string
		err   error
		by    string // the name of the transport; empty for an error
		asked int
	}{
		{"the API server is unreachable at the start", 0, "", errAway, "", 1},
		{"no retry with every request", time.Second, "one", nil, "", 1},
		{"a retry soon after", 5 * time.Second, "one", nil, "bare Bearer reader-one", 2},
		{"the token is kept", 29 * time.Minute, "two", nil, "bare Bearer reader-one", 2},
		{"a new token after half its lifetime", time.Minute, "two", nil, "bare Bearer reader-two", 3},
		{"the token is used while it cannot be renewed", 31 * time.Minute, "", errAway, "bare Bearer reader-two", 4},
		{"one renewal attempt a minute", 59 * time.Second, "", errAway, "bare Bearer reader-two", 4},
		{"the token is used until it expires", 2 * time.Minute, "", errAway, "bare Bearer reader-two", 5},
		{"nothing is sent without a token", 30 * time.Minute, "", errAway, "", 6},
		{"the token must not be requested", 6 * time.Second, "", forbidden, "", 7},
		{"no retry within a minute of a refusal", 59 * time.Second, "three", nil, "", 7},
		{"a retry after a minute", 2 * time.Second, "three", nil, "bare Bearer reader-three", 8},
		{"the ServiceAccount was deleted", time.Hour, "", apierrors.NewNotFound(accounts, "reader"), "", 9},
	}
	for _, step := range steps {
		now.forward(step.after)
		office.token, office.err = step.token, step.err
		got := ""
		if response, err := transport.RoundTrip(httptest.NewRequest(http.MethodGet, "/", nil)); err == nil {
			got = response.Header.Get("By")
			response.Body.Close()
		} else if !errors.Is(err, errAway) && (!notGranted(err) || !strings.HasSuffix(err.Error(), ": "+reader.Remedy)) {
			t.Errorf("%s: error %v", step.what, err)
		}
		if got != step.by || office.asked != step.asked {
			t.Errorf("%s: sent by %q after %d requests for tokens, want %q after %d", step.what, got, office.asked, step.by, step.asked)
		}
	}
}

// If a server refuses a token, a new one is requested, but at most once in five seconds, however
// often the server refuses.
func TestRefusedTokensAreRenewedRarely(t *testing.T) {
	now := newClock()
	office := &office{now: now.time, token: "x"}
	env := &Env{Now: now.time, RequestToken: office.request}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer server.Close()
	client := &http.Client{Transport: env.AsAccount(reader, http.DefaultTransport)}
	for i, want := range []int{1, 1, 2, 2} {
		for range 3 {
			if status, err := get(t, client, server.URL); err != nil || status != http.StatusUnauthorized {
				t.Fatalf("got %d, %v", status, err)
			}
		}
		if office.asked != want {
			t.Errorf("round %d: %d tokens were requested, want %d", i, office.asked, want)
		}
		now.forward(3 * time.Second)
	}
}

// A request that is cancelled while a token is being requested does not prevent
// the next request from getting the token.
func TestTokenForARequestThatIsGivenUp(t *testing.T) {
	now := newClock()
	office := &office{now: now.time, err: context.Canceled}
	env := &Env{Now: now.time, RequestToken: office.request}
	transport := env.AsAccount(reader, as("bare"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if response, err := transport.RoundTrip(httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)); !errors.Is(err, context.Canceled) {
		response.Body.Close()
		t.Errorf("error %v", err)
	}
	office.token, office.err = "one", nil
	response, err := transport.RoundTrip(httptest.NewRequest(http.MethodGet, "/", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got := response.Header.Get("By"); got != "bare Bearer reader-one" {
		t.Errorf("sent by %q", got)
	}
}

func get(t *testing.T, client *http.Client, url string) (int, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	return response.StatusCode, nil
}

// The process's own token is recognized in any file.
func TestOwnTokens(t *testing.T) {
	own, other, copied := write(t, "own", "mine\n"), write(t, "other", "yours"), write(t, "copied", "mine")
	for name, tc := range map[string]struct {
		api  rest.Config
		path string
		want bool
	}{
		"the file itself":   {rest.Config{BearerTokenFile: own}, own, true},
		"a copy":            {rest.Config{BearerTokenFile: own}, copied, true},
		"of a kubeconfig":   {rest.Config{BearerToken: "mine"}, own, true},
		"another":           {rest.Config{BearerTokenFile: own, BearerToken: "mine"}, other, false},
		"no token at all":   {rest.Config{}, other, false},
		"an empty file":     {rest.Config{}, write(t, "empty", "\n"), false},
		"a file that is no": {rest.Config{BearerTokenFile: own}, own + "-gone", false},
	} {
		if got := (&Env{REST: &tc.api}).IsOwnToken(tc.path); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
