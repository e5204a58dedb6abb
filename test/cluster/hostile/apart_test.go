package hostile

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// TestMain lets the test binary act as the client that Start starts.
func TestMain(m *testing.M) {
	if Main(context.Background()) {
		return
	}
	os.Exit(m.Run())
}

// kubeconfig returns a kubeconfig file with the given server.
func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"], config.Contexts["c"], config.CurrentContext = &clientcmdapi.Cluster{Server: server}, &clientcmdapi.Context{Cluster: "c"}, "c"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// A client in its own process attacks until it is stopped, and reports its attacks.
func TestApart(t *testing.T) {
	asked := make(chan struct{})
	var once sync.Once
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { once.Do(func() { close(asked) }) }))
	defer target.Close()
	pods := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"PodList","apiVersion":"v1","items":[]}`))
	}))
	defer pods.Close()
	config := Config{Target: target.Listener.Addr().String(), Namespace: "shop", Nodes: []string{"a"}, Lair: "a", Attacks: []Attack{Trickle}}
	a, err := Start(t.Context(), config, kubeconfig(t, pods.URL))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-asked:
	case <-time.After(30 * time.Second):
		t.Error("it asked nothing")
	}
	for range 2 {
		report, err := a.Stop()
		if err != nil || report[Trickle].Sent == 0 {
			t.Errorf("%+v, %v, want some slow bodies", report, err)
		}
	}
}

// A client reports that it cannot do what is required of it.
func TestApartFails(t *testing.T) {
	a, err := Start(t.Context(), Config{Attacks: Attacks()}, filepath.Join(t.TempDir(), "none"))
	if err != nil {
		t.Fatal(err)
	}
	if report, err := a.Stop(); err == nil {
		t.Errorf("no error, %+v", report)
	}
}
