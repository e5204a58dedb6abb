package e2e

import (
	"testing"

	"github.com/evenkeel/evenkeel/internal/testkit/landings"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// Loops of evictions that descheduler's users have reported end, and evictions that help are made.
// kube-scheduler asks Evenkeel where the replacements should go.
//
//e2e:tier all
func TestLoopsEnd(t *testing.T) {
	for _, s := range stage.Landings(landings.Reported, landings.Related, landings.Right) {
		t.Run(s.Name, func(t *testing.T) { stage.New(t).EndsAsPlanned(s, stage.Fast) })
	}
}
