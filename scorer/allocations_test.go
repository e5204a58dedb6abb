//go:build !race

// Under the race detector pools drop items at random, so counting is
// meaningless.

package scorer

import (
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// Answering a request allocates nothing, however many nodes it names.
func TestAnswersDoNotAllocate(t *testing.T) {
	nodes := make([]at, 500)
	for i := range nodes {
		nodes[i] = at{int64(i % 90), int64(i % 80)}
	}
	b, request, scores := boardOf(t, testConfig(), nodes...), indices(500), make([]int8, 500)
	name := []byte("q")
	for what, answer := range map[string]func(){
		"Accepts": func() { b.Accepts(7, pod) },
		"Score":   func() { b.Score(request, pod, scores) },
		"Best":    func() { b.Best(request, pod, func(i cluster.NodeIndex) bool { return i == 3 }) },
		"Adjust":  func() { b.Adjust("q", cluster.Charge{Usage: pod}) },
		"Node":    func() { b.Node(name) },
	} {
		if got := testing.AllocsPerRun(100, answer); got != 0 {
			t.Errorf("%s allocates %v times", what, got)
		}
	}
}

func TestMeasuredAnswersDoNotAllocate(t *testing.T) {
	nodes := make([]told, 500)
	for i := range nodes {
		nodes[i] = told{{float64(i % 90), nan, 40}, {float64(i % 80), 20, nan}}
	}
	request, scores := indices(500), make([]int8, 500)
	for name, measured := range map[string]Measured{"Crane": craneConfig(), "MemoryLoad": memoryConfig(), "MinMax": minMaxConfig()} {
		b := measuring(measured).board(t, measuredView(nodes...))
		for what, answer := range map[string]func(){
			"Accepts": func() { b.Accepts(7, pod) }, "Score": func() { b.Score(request, pod, scores) }, "Score100": func() { b.Score100(request, pod, scores) },
		} {
			if got := testing.AllocsPerRun(100, answer); got != 0 {
				t.Errorf("%s: %s allocates %v times", name, what, got)
			}
		}
	}
}

// Counting and scoring with hot values allocate nothing.
func TestHotValueDoesNotAllocate(t *testing.T) {
	b, request, scores := boundBoard(t, craneTerms, times(9, 0), []time.Duration{}), indices(2), make([]int8, 2)
	for what, answer := range map[string]func(){
		"Score": func() { b.Score(request, pod, scores) },
		"Bound": func() { b.Bound("a", noon) },
	} {
		if got := testing.AllocsPerRun(100, answer); got != 0 {
			t.Errorf("%s allocates %v times", what, got)
		}
	}
}
