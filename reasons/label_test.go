package reasons

import (
	"regexp"
	"testing"
)

func TestSnake(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "OK": "ok", "Hot": "hot", "NotLeader": "not_leader", "APIErrors": "api_errors", "UsageFromTheFuture": "usage_from_the_future", "snake_case": "snake_case",
	} {
		if got := Snake(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

// Each reason has a distinct label value.
func TestLabels(t *testing.T) {
	legal, of := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`), map[string]Reason{}
	for _, r := range All() {
		if label := r.Label(); !legal.MatchString(label) || of[label] != "" {
			t.Errorf("%s is %q, like %q", r, label, of[label])
		}
		of[r.Label()] = r
	}
	if len(of) < 50 {
		t.Errorf("%d reasons", len(of))
	}
}
