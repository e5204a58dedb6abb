package throughput

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// auditLine returns an abridged line of the audit log.
func auditLine(resource, subresource string, code int, at time.Duration) string {
	stamp := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(at).Format(time.RFC3339Nano)
	return fmt.Sprintf(`{"kind":"Event","stage":"ResponseComplete","verb":"create","objectRef":{"resource":%q,"namespace":"wave","name":"a","subresource":%q},"responseStatus":{"code":%d},"stageTimestamp":%q}`+"\n",
		resource, subresource, code, stamp)
}

func TestBindings(t *testing.T) {
	tests := map[string]struct {
		lines         []string
		count         int
		podsPerSecond float64
	}{
		"the first and the last count, in whatever order they stand": {
			lines: []string{
				auditLine("pods", "binding", 201, 500*time.Millisecond),
				auditLine("pods", "binding", 201, 0),
				auditLine("pods", "binding", 201, 2*time.Second),
				auditLine("pods", "binding", 201, time.Second),
			},
			count: 4, podsPerSecond: 1.5, // 3 in 2 s
		},
		"what was refused is no binding": {
			lines: []string{
				auditLine("pods", "binding", 409, 0),
				auditLine("pods", "binding", 201, time.Second),
				auditLine("pods", "binding", 201, 2*time.Second),
			},
			count: 2, podsPerSecond: 1,
		},
		"other requests are none": {
			lines: []string{
				auditLine("pods", "", 201, 0),
				auditLine("pods", "status", 200, 0),
				auditLine("events", "binding", 201, 0),
				auditLine("pods", "binding", 201, time.Second),
				auditLine("pods", "binding", 201, 1500*time.Millisecond),
			},
			count: 2, podsPerSecond: 2,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			// The text is read in arbitrary pieces, like a file that grows.
			text := strings.Join(tc.lines, "")
			for _, size := range []int{7, 100, len(text)} {
				var b Bindings
				for rest := text; rest != ""; {
					piece := rest[:min(size, len(rest))]
					rest = rest[len(piece):]
					if err := b.Read(strings.NewReader(piece)); err != nil {
						t.Fatal(err)
					}
				}
				got, err := b.PodsPerSecond()
				if err != nil || got != tc.podsPerSecond || b.Count != tc.count {
					t.Errorf("in pieces of %d: %d bindings, %v pods/s, %v; want %d, %v", size, b.Count, got, err, tc.count, tc.podsPerSecond)
				}
			}
		})
	}
}

func TestBindingsWithoutRate(t *testing.T) {
	tests := map[string][]string{
		"none":             nil,
		"one":              {auditLine("pods", "binding", 201, 0)},
		"two at once":      {auditLine("pods", "binding", 201, 0), auditLine("pods", "binding", 201, 0)},
		"an unended line":  {auditLine("pods", "binding", 201, 0), strings.TrimSpace(auditLine("pods", "binding", 201, time.Second))},
		"two of something": {auditLine("nodes", "", 201, 0), auditLine("nodes", "", 201, time.Second)},
	}
	for name, lines := range tests {
		t.Run(name, func(t *testing.T) {
			var b Bindings
			if err := b.Read(strings.NewReader(strings.Join(lines, ""))); err != nil {
				t.Fatal(err)
			}
			if rate, err := b.PodsPerSecond(); err == nil {
				t.Errorf("%v pods/s of %d bindings, want an error", rate, b.Count)
			}
		})
	}
}

func TestBindingsOfABrokenLog(t *testing.T) {
	var b Bindings
	if err := b.Read(strings.NewReader(`{"subresource":"binding"` + "\n")); err == nil {
		t.Error("a line that is no JSON was taken")
	}
}
