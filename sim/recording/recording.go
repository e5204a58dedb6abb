package recording

import "math"

// Recording is the content of a recording.
type Recording struct {
	Header Header
	// Nodes holds all nodes that were seen. The first AtFirst of them were in the first
	// reading.
	Nodes     []NodeSeries
	AtFirst   int
	Templates []Template
	Pods      []PodSeries
	// Readings is one more than the number of the last reading.
	Readings int
	// Cut describes why and at which line the recording is truncated; empty if it is
	// complete.
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
	// From is the number of the first reading that contained the pod, Until that of the
	// first later reading that did not; 0 if the pod existed until the end.
	From, Until int
	Used        Series
	came        bool
}

// Series holds milli-cores and bytes: one value per reading, starting with number From;
// NaN if unknown.
type Series struct {
	From        int
	CPU, Memory []float32
}

var nan = float32(math.NaN())

// At returns the usage in a reading; NaN if unknown.
func (s *Series) At(number int) (cpu, memory float32) {
	if k := number - s.From; k >= 0 && k < len(s.CPU) {
		return s.CPU[k], s.Memory[k]
	}
	return nan, nan
}
