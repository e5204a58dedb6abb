package usage

import (
	"testing"
	"time"
)

// A new Config may change how usage is judged, and the samples are kept. It must not change what is
// sampled.
func TestRetune(t *testing.T) {
	cases := map[string]struct {
		change func(*Config)
		ok     bool
	}{
		"nothing":                {change: func(*Config) {}, ok: true},
		"a shorter window":       {change: func(c *Config) { c.MinWindow = time.Second }, ok: true},
		"other estimates":        {change: func(c *Config) { c.Estimate.Default = amounts(1, 1) }, ok: true},
		"another age":            {change: func(c *Config) { c.MaxAge = 5 * time.Minute }, ok: true},
		"no age":                 {change: func(c *Config) { c.MaxAge = 0 }},
		"another interval":       {change: func(c *Config) { c.SampleInterval = time.Minute }},
		"another window":         {change: wanting(t, "avg_1h", "max_avg_1h")},
		"one window less":        {change: func(c *Config) { c.Windows = nil }},
		"another signal":         {change: signalling("disk")},
		"the same windows twice": {change: wanting(t, "avg_1h", "avg_1h"), ok: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			store, snapshot := newStore(t, wanting(t, "avg_1h")), snapshotOf(nodeWith("n1"))
			for second := 0; second <= 60; second += 15 {
				store.Ingest(snapshot, readAt(second).node("n1", amounts(1000, 0)).Batch)
			}
			config := testConfig()
			wanting(t, "avg_1h")(&config)
			tc.change(&config)
			if err := store.Retune(config); (err == nil) != tc.ok {
				t.Fatalf("Retune: %v, want ok=%v", err, tc.ok)
			}
			node := store.View(snapshot, at(61), nil).Nodes[0]
			if node.Span != time.Minute {
				t.Errorf("samples span %v, want the minute there was", node.Span)
			}
			if known := tc.ok && config.MinWindow < time.Minute; node.Known() != known {
				t.Errorf("known %v, want %v", node.Known(), known)
			}
		})
	}
}
