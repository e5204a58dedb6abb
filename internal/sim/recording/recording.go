package recording

import "math"

// Recording is what was read.
type Recording struct {
	Header Header
	// Nodes are all that were seen; the first AtFirst of them were there at the
	// first reading.
	Nodes     []NodeSeries
	AtFirst   int
	Templates []Template
	Pods      []PodSeries
	// Readings is the number of the last reading, plus one.
	Readings int
	// Cut is why the recording ends early, with the line; empty where it was
	// ended.
	Cut string
}

// NodeSeries is a node with what it used.
type NodeSeries struct {
	Node
	Used Series
}

// PodSeries is a pod with what it used.
type PodSeries struct {
	Name           string
	Template, Node int
	// From and Until are the numbers of the first reading that had the pod and
	// of the first one that did not any more; Until is 0 for a pod that was
	// there at the end.
	From, Until int
	Used        Series
	came        bool
}

// Series holds milli-cores and bytes, a value per reading from the number From
// on, NaN where nothing is known.
type Series struct {
	From        int
	CPU, Memory []float32
}

var nan = float32(math.NaN())

// At is what is known of a reading.
func (s *Series) At(number int) (cpu, memory float32) {
	if k := number - s.From; k >= 0 && k < len(s.CPU) {
		return s.CPU[k], s.Memory[k]
	}
	return nan, nan
}
