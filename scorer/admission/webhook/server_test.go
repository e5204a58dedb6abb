package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/evenkeel/evenkeel/internal/certificates"
	"github.com/evenkeel/evenkeel/scorer/admission"
	"github.com/evenkeel/evenkeel/scorer/extender/certs"
)

// newTestServer returns a Server that knows no keys, and the CA of its certificate.
func newTestServer(t *testing.T) (*Server, *x509.CertPool) {
	t.Helper()
	ca, err := certificates.NewAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Server([]string{"evenkeel.evenkeel.svc"}, nil, time.Hour, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	files := certs.Files{CertFile: filepath.Join(t.TempDir(), "tls.crt"), KeyFile: filepath.Join(t.TempDir(), "tls.key")}
	for name, content := range map[string][]byte{files.CertFile: pair.Cert, files.KeyFile: pair.Key} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = free.Close()
	steerings := schema.GroupVersionResource{Group: "evenkeel.io", Version: "v1alpha1", Resource: "steerings"}
	kinds := map[schema.GroupVersionResource]string{steerings: "SteeringList"}
	keys := admission.NewFollowed(dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds))
	s, err := NewServer(free.Addr().String(), files, keys, time.Now, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.Cert)
	return s, roots
}

// The server answers the API server over HTTPS under the Service's name, from the moment when it
// knows the keys until the process ends.
func TestServerAnswers(t *testing.T) {
	s, roots := newTestServer(t)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "evenkeel.evenkeel.svc"}}}
	defer client.CloseIdleConnections()
	body := `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "asked"}}`
	var reply *http.Response
	for begun := time.Now(); reply == nil; {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+s.address+Path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if reply, err = client.Do(r); err != nil && time.Since(begun) > 10*time.Second { // before that, the server may not listen yet
			t.Fatal(err)
		}
	}
	var review admissionv1.AdmissionReview
	err := json.NewDecoder(reply.Body).Decode(&review)
	_ = reply.Body.Close()
	if err != nil || review.Response == nil || !review.Response.Allowed || review.Response.UID != "asked" {
		t.Errorf("%v, %+v", err, review.Response)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
