package kubelet

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/observe/usage"
)

// endless sends an answer that never ends.
var endless = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write([]byte(`{"node":{"fs":"`))
	filler := bytes.Repeat([]byte("x"), 1<<16)
	for {
		if _, err := w.Write(filler); err != nil {
			return
		}
	}
})

// hanging answers only when the client gives up.
var hanging = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })

// stalling starts an answer and stops.
var stalling = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	_, _ = w.Write([]byte(`{"node":{`))
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
})

// truncated announces more than it sends.
var truncated = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "5000")
	_, _ = w.Write([]byte(summaryOf("bad")))
})

// faults are the ways in which a kubelet can fail, and how each is counted.
var faults = map[string]struct {
	handler http.Handler
	cause   usage.Cause
	want    string
}{
	"hangs":                  {hanging, usage.Unreachable, "no answer within 1s"},
	"stops within an answer": {stalling, usage.Unreachable, "no answer within 1s"},
	"hangs up":               {http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), usage.Unreachable, "EOF"},
	"cut off":                {truncated, usage.Unreachable, "cut off"},
	"not authenticated":      {status(http.StatusUnauthorized), usage.Unreachable, "401 Unauthorized: Forbidden (subresource=stats)"},
	"refuses both":           {status(http.StatusForbidden), usage.Unreachable, "403 Forbidden: Forbidden (subresource=stats); fallback: 403"},
	"fails":                  {status(http.StatusInternalServerError), usage.Unreachable, "500 Internal Server Error"},
	"redirects":              {http.RedirectHandler("https://10.0.0.1:10250/stats/summary", http.StatusFound), usage.Unreachable, "302 Found"},
	"answers without end":    {endless, usage.Unreadable, "longer than 1048576 bytes"},
	"broken JSON":            {body(`{"node":`), usage.Unreadable, "unexpected EOF"},
	"HTML":                   {body(`<html>`), usage.Unreadable, "where an object should be"},
	"nothing":                {body(``), usage.Unreadable, "unexpected EOF"},
}

// tight waits only briefly for answers that never arrive, and as long as needed for all others.
func tight(want string) func(*settings) {
	return func(c *settings) {
		c.maxResponseBytes, c.Timeout = 1<<20, 30*time.Second
		if strings.Contains(want, "within 1s") {
			c.Timeout = time.Second
		}
	}
}

// A kubelet that fails is left out and counted, and the others are read.
func TestSampleWithOneBadKubelet(t *testing.T) {
	for name, tc := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKubelets(t)
			good := k.add(aNode("good", aPod("shop", "good")), body(summaryOf("good")))
			bad := k.add(aNode("bad", aPod("shop", "bad")), tc.handler)
			got, err := k.source(tight(tc.want)).Sample(t.Context(), snapshotOf(bad, good))
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Nodes) != 1 || got.Nodes[0].Name != "good" || len(got.Pods) != 1 || got.Pods[0].Name != "good" {
				t.Errorf("%+v, want the good node only", got)
			}
			wantProblems(t, map[usage.Cause]string{tc.cause: `node "bad": `}, got.Problems)
			wantProblems(t, map[usage.Cause]string{tc.cause: tc.want}, got.Problems)
		})
	}
}

// If no kubelet can be read, the source fails. As soon as one can be read, it works.
func TestSampleWithoutAnyKubelet(t *testing.T) {
	for name, tc := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKubelets(t)
			bad := k.add(aNode("bad", aPod("shop", "bad")), tc.handler)
			source := k.source(tight(tc.want))
			got, err := source.Sample(t.Context(), snapshotOf(bad))
			if err == nil || !strings.Contains(err.Error(), `node "bad": `) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
			if got.Source != "" || got.Nodes != nil {
				t.Errorf("half a batch: %+v", got)
			}
			k.serve(bad, body(summaryOf("bad")))
			if got, err = source.Sample(t.Context(), snapshotOf(bad)); err != nil || len(got.Nodes) != 1 {
				t.Errorf("%+v, %v after it recovered", got, err)
			}
		})
	}
}

// A node without an address is counted like one that does not answer.
func TestSampleOfANodeWithoutAddress(t *testing.T) {
	k := newKubelets(t)
	good := k.add(aNode("good", aPod("shop", "good")), body(summaryOf("good")))
	got, err := k.source().Sample(t.Context(), snapshotOf(good, aNode("lost")))
	if err != nil {
		t.Fatal(err)
	}
	wantProblems(t, map[usage.Cause]string{usage.Unreachable: `node "lost": it has neither`}, got.Problems)
}

// A kubelet whose certificate was not issued by the CA is not queried and gets
// no credentials.
func TestSampleOfAnUnknownAuthority(t *testing.T) {
	k := newKubelets(t)
	node := k.add(aNode("n1"), body(summaryOf("n1")))
	source, err := sourceOf(newSettings(), k.client(func(t *http.Transport) { t.TLSClientConfig.RootCAs = nil }))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := source.Sample(t.Context(), snapshotOf(node)); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("error %v, want the certificate's", err)
	}
	if asked := k.requests(); asked != nil {
		t.Errorf("asked %q", asked)
	}
}

// A cancelled reading ends at once.
func TestSampleIsCancelled(t *testing.T) {
	k := newKubelets(t)
	node := k.add(aNode("n1"), hanging)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := k.source().Sample(ctx, snapshotOf(node)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want the context's", err)
	}
}
