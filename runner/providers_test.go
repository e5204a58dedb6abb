package runner

import (
	"net/http"
	"testing"

	promapi "github.com/prometheus/client_golang/api"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/descheduler/pkg/api"
)

// Upstream plugins get a Prometheus client with the token of the policy's
// Secret, and a new one only when it changes.
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
		t.Error("a Secret without the key is no error")
	}
}
