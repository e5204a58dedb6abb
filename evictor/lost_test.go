package evictor

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"github.com/evenkeel/evenkeel/evictor/history"
	"github.com/evenkeel/evenkeel/ledger"
)

// If the pod leaves, its eviction was made, even if the answer was lost while the process was
// stopping, or came from an API server whose etcd answered too late. The eviction is reported, its
// move continues, and the framework counts it.
func TestDoubtfulEvictionsAreReported(t *testing.T) {
	for name, respond := range map[string]func(stop func(), w http.ResponseWriter){
		"the answer got lost": func(_ func(), _ http.ResponseWriter) { panic(http.ErrAbortHandler) },
		"the response was lost, and the process is told to stop": func(stop func(), _ http.ResponseWriter) {
			stop()
			panic(http.ErrAbortHandler)
		},
		"etcd answered too late": func(_ func(), w http.ResponseWriter) {
			status(w, http.StatusInternalServerError, metav1.StatusReasonUnknown)
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAPI(t, aPod("web-1"))
			recorder := events.NewFakeRecorder(2)
			gate := newGate(t, a, func(c *ClientConfig) { c.Events = recorder })
			ctx, log := logging(t)
			ctx, stop := context.WithCancel(ctx)
			defer stop()
			a.answer = func(w http.ResponseWriter, _ *http.Request) {
				a.pods["ns/web-1"] = aPod("web-1", terminating)
				respond(stop, w)
			}
			gate.config.Ledger.Record(time.Now(), moveOf("web-1").Intent)
			err := through(ctx, gate, moveOf("web-1"))
			if err != nil || !gate.Evicted("uid-web-1") {
				t.Errorf("does not count as evicted: %v", err)
			}
			if move, _ := gate.config.Ledger.Get("uid-web-1"); move.State != ledger.Evicted || !move.Accepted {
				t.Errorf("move %+v, want it evicted", move)
			}
			if diff := cmp.Diff([]history.Entry{entryOf("web-1")}, toldIn(t, log), untimed); diff != "" || len(recorder.Events) != 1 {
				t.Errorf("%d Events, the log (-want +got):\n%s", len(recorder.Events), diff)
			}
		})
	}
}
