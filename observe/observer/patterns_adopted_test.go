package observer

import (
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/observe/forecast"
)

// A term may start while the new sources of a policy are still being observed. Patterns that the
// previous process learned in seven days are then still known once the new sources are in use.
func TestPatternsAdoptedWhileAPolicyChanges(t *testing.T) {
	h := twoNodes(t, daily)
	stored := h.sevenDays()
	other := newMeter("other", h.at.config.Now)
	other.nodes = h.meter.nodes
	h.reconfigure(h.policyOf(readingFrom("other", other)))
	h.pass(30 * time.Second)
	if err := h.AdoptPatterns(stored); err != nil {
		t.Fatal(err)
	}
	if got := h.Patterns(900 << 10); len(got) != len(stored) {
		t.Fatalf("not adopted: %d bytes of %d", len(got), len(stored))
	}
	h.pass(10 * time.Minute)
	if h.next != nil {
		t.Fatal("still changing")
	}
	if got := h.Patterns(900 << 10); len(got) != len(stored) {
		t.Errorf("once the new sources are in use %d bytes of %d are known", len(got), len(stored))
	}
}

// Patterns that were adopted before the first observation are kept as well.
func TestPatternsAdoptedBeforeTheFirstObservation(t *testing.T) {
	h := newHarbor(t, daily)
	stored := h.sevenDays()
	if err := h.AdoptPatterns(stored); err != nil {
		t.Fatal(err)
	}
	h.reconfigure(h.policyOf(readingFrom("other", newMeter("other", h.at.config.Now))))
	if got := h.Patterns(900 << 10); len(got) != len(stored) {
		t.Errorf("by the next policy %d bytes of %d are known", len(got), len(stored))
	}
}

func daily(_ *harbor, c *Config) { c.Usage.Recurs = forecast.Clock{Period: 24 * time.Hour} }

// sevenDays returns, in stored form, the patterns learned in the previous seven
// days.
func (h *harbor) sevenDays() []byte {
	clock := h.at.config.Usage.Recurs
	var r forecast.Recurrence
	now := clock.Part(h.now.Unix())
	for part := now - 7*forecast.Parts; part < now; part++ {
		r.Add(part, 100+900*(part%forecast.Parts/40))
	}
	r.Finish(now, 0)
	return forecast.Store([]forecast.Stored{{Key: 7, Pattern: r.Pattern()}}, 900<<10, clock, now)
}
