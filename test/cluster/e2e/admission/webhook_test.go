package admission

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/internal/certificates"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

const byWebhook = "admission-steering-webhook"

// hook is the shipped webhook, through a door that the API server calls.
type hook struct {
	*door
	f *stage.Fixture
	// files are the certificate and key with which Evenkeel serves. made is the folder that
	// `evenkeel certificates` has written.
	files [2]string
	made  string
}

// asked makes the API server call the webhook by its Service's name, verified with the CA from
// `evenkeel certificates`.
func asked(t *testing.T, f *stage.Fixture) *hook {
	t.Helper()
	made := f.Certificates()
	h := &hook{f: f, made: made.Dir, files: [2]string{filepath.Join(t.TempDir(), "tls.crt"), filepath.Join(t.TempDir(), "tls.key")}}
	h.renew()
	h.door = newDoor(t, f.FreeAddress(), f.FreeAddress())
	if err := evenkeel.AskWebhook(t.Context(), f.Cluster, h.made, h.address); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := evenkeel.ForgetWebhook(context.WithoutCancel(t.Context()), f.Cluster); err != nil {
			t.Error(err)
		}
	})
	return h
}

func (h *hook) read(file string) []byte {
	h.f.T.Helper()
	text, err := os.ReadFile(filepath.Join(h.made, file))
	if err != nil {
		h.f.T.Fatal(err)
	}
	return text
}

// renew installs the certificate from `evenkeel certificates`.
func (h *hook) renew() {
	h.f.T.Helper()
	h.serveWith(h.read("server.crt"), h.read("server.key"))
}

// expire installs an expired certificate of the same CA.
func (h *hook) expire() {
	h.f.T.Helper()
	before := time.Now().Add(-48 * time.Hour)
	ca, err := certificates.ParseAuthority(h.read("ca.crt"), h.read("ca.key"), before)
	if err != nil {
		h.f.T.Fatal(err)
	}
	server, err := ca.Server([]string{"evenkeel.evenkeel.svc"}, nil, 24*time.Hour, before)
	if err != nil {
		h.f.T.Fatal(err)
	}
	h.serveWith(server.Cert, server.Key)
}

func (h *hook) serveWith(certificate, key []byte) {
	h.f.T.Helper()
	for i, content := range [][]byte{certificate, key} {
		if err := os.WriteFile(h.files[i], content, 0o600); err != nil {
			h.f.T.Fatal(err)
		}
	}
}

// serve runs `evenkeel serve` behind the door.
func (h *hook) serve(policy string, args ...string) *evenkeel.Process {
	h.f.T.Helper()
	return h.f.Serve(policy, append(args, "--webhook-address", h.behind, "--webhook-cert-file", h.files[0], "--webhook-private-key-file", h.files[1])...)
}

// If the cluster has no steering policy, the webhook steers each pod in the same way. It also does
// so in a dry run, and then leaves keys that belong to none of its own moves.
//
//e2e:tier all
func TestWebhookSteersPods(t *testing.T) {
	f := stage.New(t)
	o := install(t, f, byWebhook)
	asked(t, f).serve(f.Policy(stage.RealUsage, strings.Replace(stage.Fast, "eviction: {", "eviction: {steering: none, ", 1)), "--dry-run")
	steersPods(t, f, o)
}

// The API server calls Evenkeel, and every replacement lands on its planned node.
//
//e2e:tier all
func TestSkewByWebhook(t *testing.T) {
	f, o, story := nobodyAsks(t, byWebhook)
	h, mark := asked(t, f), f.Mark()
	h.serve(f.Policy(stage.RealUsage, byAPIServer))
	cooled(t, f, o, story)
	judge(t, f, mark, story.Hot, story.FewestEvictions)
}

// without measures what a webhook that does not answer costs. New pods arrive unchanged, at most
// one second later. Nothing is evicted, even with the default steering, which also allows an
// extender. When the webhook answers again, everything continues.
func without(t *testing.T, away, back func(*hook)) {
	t.Helper()
	f, o, story := nobodyAsks(t, byWebhook)
	h, mark, metrics := asked(t, f), f.Mark(), f.FreeAddress()
	away(h)
	h.serve(f.Policy(stage.RealUsage, stage.Fast), "--metrics-address", metrics)
	f.Eventually(2*time.Minute, "moves to be left because nothing steers", func(ctx context.Context) bool {
		_, _, err := evenkeel.Get(ctx, "http://"+metrics+"/livez")
		return err == nil && f.Metric(metrics, `evenkeel_moves_skipped_total{reason="steering_absent"}`) >= 3
	})
	if err := o.steer(t.Context(), "default", map[string]any{"gate": key(time.Now().Add(time.Minute), "Gate", "n1")}); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		begun := time.Now()
		got, err := f.Client().CoreV1().Pods("default").Create(t.Context(), pod("ReplicaSet", "gate"), dryRun)
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(begun)
		if diff := cmp.Diff(outcome{}, outcomeOf(got)); diff != "" || took > 1500*time.Millisecond {
			t.Errorf("created within %v (-want +got):\n%s", took, diff)
		}
		t.Logf("figures: a pod was created in %v", took.Round(time.Millisecond))
	}
	if evictions := f.Evictions(mark); evictions > 0 {
		t.Errorf("%d evictions while nothing steers", evictions)
	}
	// The leader may have cleared the key by now, because it belongs to no move.
	if err := o.keys.Namespace("default").Delete(t.Context(), "evenkeel", metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	back(h)
	cooled(t, f, o, story)
	judge(t, f, mark, story.Hot, story.FewestEvictions)
}

//e2e:tier all
func TestWebhookDown(t *testing.T) {
	without(t, func(h *hook) { h.shut() }, func(h *hook) { h.open() })
}

//e2e:tier all
func TestWebhookHangs(t *testing.T) {
	without(t, func(h *hook) { h.hang() }, func(h *hook) { h.open() })
}

//e2e:tier all
func TestWebhookWithAnExpiredCertificate(t *testing.T) {
	without(t, (*hook).expire, (*hook).renew)
}

// TestConstrainedPodsByWebhook is like TestConstrainedPodsWithoutExtender, with the webhook.
//
//e2e:tier all
func TestConstrainedPodsByWebhook(t *testing.T) {
	f, o := unasked(t, byWebhook)
	h := asked(t, f)
	constrainedPods(t, f, o, func(policy string) { h.serve(policy) })
}
