package handshakefaults

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// A process that starts with a ledger of a newer version evicts nothing from hot nodes and leaves
// the ledger as it is. It reports the ledger and which workloads must be scaled down first, and
// continues to answer. Once somebody accepts the loss of exactly that ledger, the process keeps a
// copy of it and starts to evict.
func TestLedgerUnreadableAtStart(t *testing.T) {
	f, skew := newFixture(t)
	newer := f.packed(`{"format":7,"moves":[]}`)
	ledger := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: stage.LedgerName}, BinaryData: map[string][]byte{stage.LedgerKey: newer},
		Data: map[string]string{"generation": "41", "writer": "newer"}}
	if _, err := f.Client().CoreV1().ConfigMaps(evenkeel.Namespace).Create(t.Context(), ledger, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p := f.Serve(f.Policy(stage.RealUsage, paced(time.Second)), "--leader-elect=true")
	f.Eventually(time.Minute, "a cycle that does not begin", func(context.Context) bool {
		return strings.Contains(p.Log(), "Cycle failed") && strings.Contains(p.Log(), "the stored ledger cannot be read")
	})
	f.Eventually(time.Minute, "the hot nodes known", func(context.Context) bool { return f.Are("hot", skew.Hot...) })
	f.Eventually(10*time.Second, "an Event about it", func(ctx context.Context) bool { return f.eventAbout(ctx, "LedgerUnreadable") })
	const accept = "evenkeel.io/ledger-loss-accepted"
	digest := regexp.MustCompile(accept + "=([0-9a-f]+)").FindStringSubmatch(p.Log())
	if digest == nil {
		t.Fatal("the log does not explain how to continue")
	}
	annotate := func(value string) {
		f.change(func(stored *v1.ConfigMap) { stored.Annotations = map[string]string{accept: value} })
	}
	annotate("0123456789abcdef") // the hash of another ledger
	f.stays(0, 8*time.Second)
	if !slices.Equal(f.stored().BinaryData[stage.LedgerKey], newer) {
		t.Error("what is stored was written over")
	}
	f.knows(p, stage.Listen())

	annotate(digest[1])
	f.witness.WaitEvictions(90*time.Second, 1)
	f.Eventually(5*time.Second, "a ledger that can be read", func(context.Context) bool {
		document, present := f.witness.Document()
		return present && len(document.Moves) > 0 && document.Generation > 41
	})
	if !f.aside(newer) {
		t.Error("what could not be read was not kept")
	}
}
