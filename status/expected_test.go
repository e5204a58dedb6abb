package status

import "testing"

// The description of expected effects contains only those that exist.
func TestExpectedInWords(t *testing.T) {
	for want, e := range map[string]*Expected{
		"":                                   nil,
		"hot for 60 of the next 240 minutes": {HotMinutes: 60, WithinMinutes: 240},
		"hot for 240 of the next 240 minutes, and its demand exceeds its capacity by 6.6 cores": {HotMinutes: 240, WithinMinutes: 240, UnservedCPUMilli: 6600},
	} {
		if got := e.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
