// Package soak is the measuring stick of a long run on a local cluster: it says
// what the cluster is made of, what every replica uses at every moment, and
// what came of it.
//
// It decides which Deployments there are and where their pods stand at the
// beginning (Fleet), what each replica uses over time (Load, from a recorded or
// a generated Trace), which pod plays which replica (Roster), and what is
// counted and when a run has failed (Score, Vitals, Report). Starting clusters
// and processes, watching and patching is left to cmd/soak. Its invariants: the
// same Shape and the same Trace give the same Fleet and Load, so that a run and
// its baseline differ in nothing else; a series belongs to a replica and never
// to a pod, so that an evicted pod's replacement goes on where it stopped; all
// that is counted comes from the API server's own watch, except where Evenkeel
// is asked for its plan; nothing grows with the number of pods that came and
// went, but only with the length of the run.
package soak

// Amounts are CPU in milli-cores and memory in bytes.
type Amounts struct{ CPUMilli, MemoryBytes int64 }

func (a Amounts) plus(b Amounts) Amounts {
	return Amounts{CPUMilli: a.CPUMilli + b.CPUMilli, MemoryBytes: a.MemoryBytes + b.MemoryBytes}
}
