package kube

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func TestListed(t *testing.T) {
	cases := map[string]string{
		"/api/v1/pods":                             "pods",
		"/api/v1/pods/":                            "pods",
		"/apis/apps/v1/replicasets":                "replicasets",
		"/k8s/clusters/c-1/api/v1/nodes":           "nodes",
		"/k8s/clusters/c-1/apis/policy/v1/budgets": "budgets",
		"/version":                                 "",
		"/":                                        "",
		"":                                         "",
		"/api/v1":                                  "",
		"/apis/apps/v1":                            "",
		"/api/v1/nodes/n1":                         "",
		"/api/v1/namespaces/evenkeel/pods":         "",
		"/apis/coordination.k8s.io/v1/namespaces/evenkeel/leases/evenkeel": "",
	}
	for url, want := range cases {
		if got := listed(url); got != want {
			t.Errorf("%q lists %q, want %q", url, got, want)
		}
	}
}

// Objects are counted as they arrive, by resource. Error responses are not counted.
func TestArrivals(t *testing.T) {
	const list = `{"kind":"PodList","apiVersion":"v1","items":[]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/pods") {
			http.Error(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403}`, http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(list))
	}))
	defer server.Close()
	var a arrivals
	config := &rest.Config{Host: server.URL}
	config.Wrap(a.wrap)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err == nil {
			t.Fatal("nodes were listed")
		}
	}
	if got, want := a.of("pods", "nodes"), int64(2*len(list)); got != want || a.of("nodes") != 0 {
		t.Errorf("%d bytes have come, %d of nodes, want %d and 0", got, a.of("nodes"), want)
	}
}
