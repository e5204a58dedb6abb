package e2e

import (
	"testing"

	"github.com/evenkeel/evenkeel/internal/testkit/landings"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// What descheduler's users report as loops of evictions ends, and where evictions help they are
// made. kube-scheduler asks Evenkeel where the replacements go.
//
//e2e:tier all
func TestLoopsEnd(t *testing.T) {
	for _, s := range stage.Landings(landings.Reported, landings.Related, landings.Right) {
		t.Run(s.Name, func(t *testing.T) { stage.New(t).EndsAsPlanned(s, stage.Fast) })
	}
}
