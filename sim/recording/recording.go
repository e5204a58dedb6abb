package recording

import "math"

// Recording is the content of a recording.
type Recording struct {
	Header Header
	// Nodes are all nodes seen; the first AtFirst of them were in the first
	// reading.
	Nodes     []NodeSeries
	AtFirst   int
	Templates []Template
	Pods      []PodSeries
	// Readings is the number of the last reading, plus one.
	Readings int
	// Cut describes why and at which line the recording is truncated; empty if it is not.
	Cut string
}

// NodeSeries is a node with its usage.
type NodeSeries struct {
	Node
	Used Series
}

// PodSeries is a pod with its usage.
type PodSeries struct {
	Name           string
	Template, Node int
	// From and Until are the numbers of the first reading that had the pod and
	// of the first one that no longer did; Until is 0 for a pod that was there
	// at the end.
	From, Until int
	Used        Series
	came        bool
}

// Series holds milli-cores and bytes, one value per reading from number From
// on; NaN if unknown.
type Series struct {
	From        int
	CPU, Memory []float32
}

var nan = float32(math.NaN())

// At returns the usage of a reading, NaN if unknown.
func (s *Series) At(number int) (cpu, memory float32) {
	if k := number - s.From; k >= 0 && k < len(s.CPU) {
		return s.CPU[k], s.Memory[k]
	}
	return nan, nan
}
