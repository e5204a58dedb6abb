package admission

import (
	"context"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// turns distributes the connections that it accepts over API servers in turn.
type turns struct {
	listener net.Listener
	servers  []string
	// given counts the connections.
	given   atomic.Int64
	running sync.WaitGroup
}

// inTurn returns a fixture whose processes connect to these API servers in turn.
func inTurn(t *testing.T, f *stage.Fixture, urls ...string) (*stage.Fixture, *turns) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &turns{listener: listener}
	for _, url := range urls {
		p.servers = append(p.servers, strings.TrimPrefix(url, "https://"))
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	p.running.Go(func() { p.accept(ctx) })
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		p.running.Wait()
	})
	config, err := clientcmd.LoadFromFile(f.Access.Evenkeel)
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range config.Clusters {
		cluster.Server = "https://" + listener.Addr().String()
	}
	through := *f
	through.Access.Evenkeel = filepath.Join(t.TempDir(), "in-turn.kubeconfig")
	if err := clientcmd.WriteToFile(*config, through.Access.Evenkeel); err != nil {
		t.Fatal(err)
	}
	return &through, p
}

func (p *turns) accept(ctx context.Context) {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // the listener is closed
		}
		to := p.servers[int(p.given.Add(1))%len(p.servers)]
		p.running.Go(func() { join(ctx, client, to) })
	}
}

// join copies bytes in both directions until one side closes or the context is done.
func join(ctx context.Context, client net.Conn, to string) {
	defer client.Close()
	server, err := new(net.Dialer).DialContext(ctx, "tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	var copying sync.WaitGroup
	over := make(chan struct{}, 2)
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
		copying.Go(func() {
			_, _ = io.Copy(pair[0], pair[1]) // an error ends the connection as well
			over <- struct{}{}
		})
	}
	select {
	case <-over:
	case <-ctx.Done():
	}
	_, _ = client.Close(), server.Close()
	copying.Wait()
}

// noKey waits until no key is open.
func (d *diary) noKey(f *stage.Fixture) {
	f.T.Helper()
	f.Eventually(20*time.Second, "the key to be cleared", func(context.Context) bool {
		return !slices.ContainsFunc(d.openings(), func(k opening) bool { return k.cleared.IsZero() })
	})
}

// made counts the moves whose pods were evicted. The audit log cannot be used, because each API
// server has its own.
func made(f *stage.Fixture) (n int) {
	f.T.Helper()
	for _, move := range f.Moves() {
		if move.State != "Cancelled" && move.State != "Intended" {
			n++
		}
	}
	return n
}

// widen adds a field to the schema of the key kind.
func widen(t *testing.T, f *stage.Fixture) {
	t.Helper()
	client, err := dynamic.NewForConfig(f.Config())
	if err != nil {
		t.Fatal(err)
	}
	kinds := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	patch := `[{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/note", "value": {"type": "string"}}]`
	if _, err := kinds.Patch(t.Context(), "steerings.evenkeel.io", types.JSONPatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Evenkeel's connections alternate between two API servers. The key kind is deleted, recreated and
// given another schema. Meanwhile, either nothing is evicted or everything is steered, and no
// replacement lands on a wrong node.
//
//e2e:tier all
func TestTwoAPIServers(t *testing.T) {
	f, o, story, policy := quick(t, "admission-steering")
	second, err := f.StartSecond(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(second.Stop)
	through, shared := inTurn(t, f, f.Config().Host, second.URL())
	d := follow(t, f)
	process := through.Serve(policy)
	d.nth(t, "", 3, time.Minute)
	d.noKey(f)
	removeKind(t, f)
	f.Eventually(time.Minute, "the process to say that nothing steers", func(context.Context) bool {
		return strings.Contains(process.Log(), "SteeringAbsent")
	})
	before := made(f)
	applyAgain(t, f)
	f.Eventually(time.Minute, "moves to go on", func(context.Context) bool { return made(f) > before })
	widen(t, f)
	cooled(t, f, o, story)
	landed(t, f)
	onPlan := 0
	for _, move := range f.Moves() {
		switch {
		case move.State == "Cancelled":
		case move.State != "Landed" || slices.Contains(story.Hot, move.Node):
			t.Errorf("%s", &move)
		case move.Node == move.To:
			onPlan++
		default: // the API server that created the pod did not know the recreated key kind yet
			t.Logf("%s", &move)
		}
	}
	evictions := made(f)
	if evictions > story.FewestEvictions+1 {
		t.Errorf("%d evictions, want %d or one more", evictions, story.FewestEvictions)
	}
	t.Logf("figures: evictions %d, fewest %d, %d of them before the kind was gone; on plan %d, none on a hot node; %d connections",
		evictions, story.FewestEvictions, before, onPlan, shared.given.Load())
}
