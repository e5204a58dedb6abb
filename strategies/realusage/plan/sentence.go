package plan

import (
	"fmt"
	"strings"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/thresholds"
)

// Sentence says with the numbers why the pod is moved: it goes into the pod's
// Event.
func (m *Move) Sentence(evidence []thresholds.Evidence) string {
	said := make([]string, len(evidence))
	for i := range evidence {
		said[i] = evidence[i].String()
	}
	hottest := cluster.CPU
	if m.FromBefore[cluster.Memory]-m.FromAfter[cluster.Memory] > m.FromBefore[cluster.CPU]-m.FromAfter[cluster.CPU] {
		hottest = cluster.Memory
	}
	return fmt.Sprintf("Node %s is hot by real usage: %s; this pod uses %s. Planned landing: node %s, at %.1f %% of its %s before and %.1f %% with it.",
		m.From, strings.Join(said, ", "), m.Usage.InWords(), m.To, m.ToBefore[hottest], hottest, m.ToAfter[hottest])
}
