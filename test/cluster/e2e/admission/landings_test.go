package admission

import (
	"testing"

	"github.com/evenkeel/evenkeel/internal/testkit/landings"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// TestLoopsEndWithoutExtender is like TestLoopsEnd, but the API server steers. It covers the first
// of the reported loops, and all clusters in which evictions help.
//
//e2e:tier all
func TestLoopsEndWithoutExtender(t *testing.T) {
	for i, s := range stage.Landings(landings.Reported, landings.Related, landings.Right) {
		if i > 0 && (s.Placed.Evictions == 0 || s.Anywhere) {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			f, _ := unasked(t, "admission-steering")
			f.EndsAsPlanned(s, byAPIServer)
		})
	}
}
