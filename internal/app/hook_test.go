package app

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"

	"github.com/evenkeel/evenkeel/internal/admission"
	"github.com/evenkeel/evenkeel/internal/admission/webhook"
	"github.com/evenkeel/evenkeel/internal/certificates"
	"github.com/evenkeel/evenkeel/scorer/extender/certs"
)

// The API server is answered over HTTPS by the name of the Service, from when
// the keys are known, until the process ends.
func TestHookAnswers(t *testing.T) {
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
	h := &hook{address: free.Addr().String(), keys: admission.NewFollowed(dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds))}
	if h.certificates, err = certs.NewKeeper(files, "webhook"); err != nil {
		t.Fatal(err)
	}
	h.reviews = webhook.New(h.keys, time.Now, prometheus.NewRegistry())
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.run(ctx) }()

	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca.Cert)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "evenkeel.evenkeel.svc"}}}
	defer client.CloseIdleConnections()
	body, err := json.Marshal(&admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"}, Request: &admissionv1.AdmissionRequest{UID: "asked"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); ; {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+h.address+webhook.Path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		reply, err := client.Do(r)
		if err != nil && time.Since(begun) < 10*time.Second {
			continue // it does not listen yet
		}
		if err != nil {
			t.Fatal(err)
		}
		var review admissionv1.AdmissionReview
		err = json.NewDecoder(reply.Body).Decode(&review)
		_ = reply.Body.Close()
		if err != nil || review.Response == nil || !review.Response.Allowed || review.Response.UID != "asked" {
			t.Errorf("%v, %+v", err, review.Response)
		}
		break
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Without an address nobody is answered, and the process goes on.
func TestHookWithoutAnAddress(t *testing.T) {
	h, err := newHook(&App{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.run(ctx) }()
	select {
	case err := <-done:
		t.Errorf("it ended: %v", err)
	case <-time.After(10 * time.Millisecond):
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
