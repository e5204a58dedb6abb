package handshakefaults

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

// setAside is the metric that counts unreadable ledgers.
const setAside = "evenkeel_ledger_set_aside_total"

// Between two evictions of a cycle, the leader's ledger is deleted, corrupted in several ways, and
// changed by somebody else. The leader restores it with all evictions. It stores unreadable content
// in a separate ConfigMap and reports it, and leaves data of others alone. While the ledger is
// immutable, nothing is evicted.
func TestLedgerDamaged(t *testing.T) {
	f := &fixture{Fixture: stage.New(t)}
	story, err := scenario.RequestSkew(t.Context(), f.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.WaitMetrics(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.witness = f.Witness()
	metrics := f.FreeAddress()
	p := f.Serve(f.Policy(stage.RealUsage, paced(3*time.Second)), "--leader-elect=true", "--metrics-address", metrics)
	evicted := 0
	next := func() {
		evicted = len(f.witness.Evictions()) + 1
		f.witness.WaitEvictions(90*time.Second, evicted)
	}

	next()
	f.deletesLedger()
	f.whole()
	for name, garbage := range map[string][]byte{
		"garbage":          []byte("not what you think"),
		"half of a ledger": f.half(),
		"wrong JSON":       f.packed(`{"format":1,"moves":[{"state":"Teleported","podUID":"x","from":"y"}]}`),
		"another format":   f.packed(`{"format":7,"moves":[]}`),
	} {
		next()
		before := f.Metric(metrics, setAside)
		f.spoil(garbage)
		f.whole()
		f.Eventually(5*time.Second, name+" to be counted", func(context.Context) bool { return f.Metric(metrics, setAside) > before })
		if !f.aside(garbage) {
			t.Errorf("%s: the %d bytes that could not be read were not set aside", name, len(garbage))
		}
	}
	f.Eventually(10*time.Second, "an Event about it", func(ctx context.Context) bool { return f.eventAbout(ctx, "LedgerSetAside") })

	next()
	f.writesBeside()
	next()
	f.whole()
	f.keptBeside()

	f.immutable(true)
	f.Eventually(30*time.Second, "evicting to end for it", func(context.Context) bool { return strings.Contains(p.Log(), "LedgerUnwritable") })
	still := len(f.witness.Evictions())
	if still > evicted+2 {
		t.Errorf("%d evictions while the ledger could not be written", still-evicted)
	}
	f.stays(still, 8*time.Second)
	if len(f.Hot(t.Context(), 65)) == 0 {
		t.Fatal("no node is still hot: the end of evicting proves nothing")
	}
	f.deletesLedger()

	f.cooled(time.Minute)
	f.released(stage.Listen())
	f.witness.Check(story.FewestEvictions + 1)
	f.notAgain()
	f.onPlan(stage.Listen())
	t.Logf("%d evictions, fewest %d", len(f.witness.Evictions()), story.FewestEvictions)
}

// aside reports whether a ConfigMap for unreadable ledgers has this content.
func (f *fixture) aside(content []byte) bool {
	f.T.Helper()
	list, err := f.Client().CoreV1().ConfigMaps(evenkeel.Namespace).List(f.T.Context(), metav1.ListOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	return slices.ContainsFunc(list.Items, func(c v1.ConfigMap) bool {
		return strings.HasPrefix(c.Name, stage.LedgerSetAside) && slices.Equal(c.BinaryData[stage.LedgerKey], content)
	})
}

// whole waits until the stored ledger is readable and contains every evicted pod.
func (f *fixture) whole() {
	f.T.Helper()
	f.Eventually(10*time.Second, "the ledger to be whole again", func(context.Context) bool {
		document, present := f.witness.Document()
		if !present {
			return false
		}
		for _, eviction := range f.witness.Evictions() {
			if move, found := document.Of(f.witness.UID(eviction.Pod)); !found || move.Evicted.IsZero() {
				return false
			}
		}
		return true
	})
}

func (f *fixture) deletesLedger() {
	f.T.Helper()
	before := f.witness.Deleted()
	err := f.Client().CoreV1().ConfigMaps(evenkeel.Namespace).Delete(f.T.Context(), stage.LedgerName, metav1.DeleteOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	f.Eventually(5*time.Second, "the ledger to be gone for the witness", func(context.Context) bool {
		return f.witness.Deleted() > before
	})
}

// half returns the first half of the stored content.
func (f *fixture) half() []byte {
	whole := f.stored().BinaryData[stage.LedgerKey]
	return whole[:len(whole)/2]
}

func (f *fixture) packed(content string) []byte {
	f.T.Helper()
	packed, err := stage.Packed([]byte(content))
	if err != nil {
		f.T.Fatal(err)
	}
	return packed
}

// change writes the ledger's ConfigMap like another client that has just read it.
func (f *fixture) change(change func(*v1.ConfigMap)) {
	f.T.Helper()
	f.Eventually(5*time.Second, "a write that does not conflict", func(ctx context.Context) bool {
		stored := f.stored()
		change(stored)
		_, err := f.Client().CoreV1().ConfigMaps(evenkeel.Namespace).Update(ctx, stored, metav1.UpdateOptions{})
		return err == nil
	})
}

// spoil writes something that is not a ledger, and waits until the leader has overwritten it.
func (f *fixture) spoil(garbage []byte) {
	f.T.Helper()
	f.change(func(stored *v1.ConfigMap) { stored.BinaryData[stage.LedgerKey] = garbage })
	f.Eventually(15*time.Second, "the next ledger", func(context.Context) bool {
		return !slices.Equal(f.stored().BinaryData[stage.LedgerKey], garbage)
	})
}

// theirs is data that others store in the ConfigMap.
var theirs = map[string]string{"team": "storage"}

func (f *fixture) writesBeside() {
	f.T.Helper()
	f.change(func(stored *v1.ConfigMap) {
		stored.Data, stored.Labels = maps.Clone(theirs), maps.Clone(theirs)
		if stored.Annotations == nil {
			stored.Annotations = map[string]string{}
		}
		maps.Copy(stored.Annotations, theirs)
		stored.BinaryData["theirs"] = []byte("storage")
	})
}

func (f *fixture) keptBeside() {
	f.T.Helper()
	stored := f.stored()
	if stored.Data["team"] != "storage" || stored.Labels["team"] != "storage" || stored.Annotations["team"] != "storage" ||
		string(stored.BinaryData["theirs"]) != "storage" {
		f.T.Errorf("what others keep in the ConfigMap was lost: data %v, labels %v, annotations %v", stored.Data, stored.Labels, stored.Annotations)
	}
}

func (f *fixture) immutable(immutable bool) {
	f.T.Helper()
	f.change(func(stored *v1.ConfigMap) { stored.Immutable = &immutable })
}

// eventAbout reports whether there is an Event with this reason about the ledger's ConfigMap.
func (f *fixture) eventAbout(ctx context.Context, reason string) bool {
	f.T.Helper()
	events, err := f.Client().EventsV1().Events(evenkeel.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	for _, event := range events.Items {
		if event.Reason == reason && event.Regarding.Kind == "ConfigMap" && event.Note != "" {
			return true
		}
	}
	return false
}
