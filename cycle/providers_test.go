package cycle

import (
	"net/http"
	"net/http/httptest"
	"testing"

	promapi "github.com/prometheus/client_golang/api"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/descheduler/pkg/api"
)

// Upstream's plugins get a Prometheus client with the token in the policy's Secret, and a new
// client only when the token changes.
func TestPrometheusProviderFollowsTheToken(t *testing.T) {
	secret := &v1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "monitoring", Name: "token"},
		Data:       map[string][]byte{PrometheusTokenKey: []byte("first")},
	}
	client := fake.NewClientset(secret)
	p := newPrometheusProvider(client, &api.Prometheus{
		URL: "https://prometheus", AuthToken: &api.AuthToken{SecretReference: &api.SecretReference{Namespace: "monitoring", Name: "token"}},
	})
	var tokens []string
	p.create = func(url, token string) (promapi.Client, *http.Transport, error) {
		tokens = append(tokens, url+" "+token)
		made, err := promapi.NewClient(promapi.Config{Address: url})
		return made, &http.Transport{}, err
	}
	for _, token := range []string{"first", "first", "second"} {
		secret.Data[PrometheusTokenKey] = []byte(token)
		if _, err := client.CoreV1().Secrets("monitoring").Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := p.refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(tokens) != 2 || tokens[0] != "https://prometheus first" || tokens[1] != "https://prometheus second" {
		t.Errorf("clients made: %q, want one per token", tokens)
	}
	secret.Data = nil
	if _, err := client.CoreV1().Secrets("monitoring").Update(t.Context(), secret, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := p.refresh(t.Context()); err == nil {
		t.Error("a Secret without the key is accepted")
	}
}

// The process's own token is sent to a Prometheus only if upstream's policy requests it, and never
// in clear text.
func TestOwnTokenIsNotSentInClearText(t *testing.T) {
	named := &api.AuthToken{SecretReference: &api.SecretReference{Namespace: "monitoring", Name: "token"}}
	for name, tc := range map[string]struct {
		server api.Prometheus
		want   bool
	}{
		"over https":          {api.Prometheus{URL: "https://prometheus"}, true},
		"in capitals":         {api.Prometheus{URL: "HTTPS://prometheus"}, true},
		"over http":           {api.Prometheus{URL: "http://prometheus"}, false},
		"by no scheme":        {api.Prometheus{URL: "prometheus:9090"}, false},
		"the Secret's, https": {api.Prometheus{URL: "https://prometheus", AuthToken: named}, false},
		"the Secret's, http":  {api.Prometheus{URL: "http://prometheus", AuthToken: named}, false},
	} {
		if got := SendsOwnToken(&tc.server); got != tc.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	p := newPrometheusProvider(fake.NewClientset(), &api.Prometheus{URL: "http://prometheus"})
	if token, err := p.readToken(t.Context()); token != "" || err != nil {
		t.Errorf("token %q, error %v", token, err)
	}
}

// A server that redirects cannot make the client send the token elsewhere.
func TestPrometheusProviderFollowsNoRedirects(t *testing.T) {
	var got []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	client, err := authenticated(server.URL, "secret", http.DefaultTransport)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/v1/query", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, _, err := client.Do(t.Context(), request) //nolint:bodyclose // Do reads and closes it
	if err != nil || response.StatusCode != http.StatusTemporaryRedirect {
		t.Errorf("response %v, error %v, want the redirect itself", response, err)
	}
	if got != nil {
		t.Errorf("another host was sent %q", got)
	}
}
