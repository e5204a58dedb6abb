package handshakefaults

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// A process that starts beside a ledger of a newer version evicts nothing from
// hot nodes, leaves what is stored as it is, tells of it and goes on answering.
// Once the key is removed it begins.
func TestLedgerUnreadableAtStart(t *testing.T) {
	f, skew := newFixture(t)
	newer := f.packed(`{"format":7,"moves":[]}`)
	ledger := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: stage.LedgerName}, BinaryData: map[string][]byte{stage.LedgerKey: newer}}
	if _, err := f.Client().CoreV1().ConfigMaps(evenkeel.Namespace).Create(t.Context(), ledger, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p := f.Serve(f.Policy(stage.RealUsage, paced(time.Second)), "--leader-elect=true")
	f.Eventually(time.Minute, "a cycle that does not begin", func(context.Context) bool {
		return strings.Contains(p.Log(), "Cycle failed") && strings.Contains(p.Log(), "the stored ledger cannot be read")
	})
	f.Eventually(time.Minute, "the hot nodes known", func(context.Context) bool { return f.Are("hot", skew.Hot...) })
	f.Eventually(10*time.Second, "an Event about it", func(ctx context.Context) bool { return f.eventAbout(ctx, "LedgerUnreadable") })
	f.stays(0, 8*time.Second)
	if !slices.Equal(f.stored().BinaryData[stage.LedgerKey], newer) {
		t.Error("what is stored was written over")
	}
	f.knows(p, stage.Listen())

	f.change(func(stored *v1.ConfigMap) { delete(stored.BinaryData, stage.LedgerKey) })
	f.witness.WaitEvictions(90*time.Second, 1)
	f.Eventually(5*time.Second, "a ledger that can be read", func(context.Context) bool {
		document, present := f.witness.Document()
		return present && len(document.Moves) > 0
	})
}
