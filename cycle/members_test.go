package cycle

import (
	"fmt"
	"testing"
	"time"
)

// If nodes come and go under new names, as those of an autoscaler do, old ones are eventually
// forgotten.
func TestNodesThatAreGoneAreForgotten(t *testing.T) {
	var c changes
	now := time.Unix(0, 0)
	for i := range 100 {
		now = now.Add(time.Hour)
		joined := fact{Event: Event{NodeJoined, fmt.Sprint("node-", i)}}
		c.look(facts{so: []fact{joined}, unknown: func(string) bool { return false }}, now)
		if i > 0 && c.first() != joined.Event {
			t.Fatalf("%v is not an event, but %v is", joined.Event, c.first())
		}
	}
	if len(c.members) > 25 {
		t.Errorf("%d nodes are remembered", len(c.members))
	}
}
