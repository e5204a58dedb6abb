// Package soak is the measuring part of a long run on a local cluster: it defines the
// cluster and the usage of every replica at every moment, and evaluates the outcome.
//
// It defines which Deployments exist and where their pods are at the beginning (Fleet),
// what each replica uses over time (Load, from a recorded or a generated Trace), which
// pod acts as which replica (Roster), and what is counted and when a run has failed
// (Score, Vitals, Report). cmd/soak starts clusters and processes, watches and patches.
// Invariants: the same Shape and Trace result in the same Fleet and Load, so that a run
// and its baseline do not differ in them; a series belongs to a replica, never to a pod,
// so that an evicted pod's replacement continues it; all counts come from the API
// server's own watch, except Evenkeel's plan; memory grows with the length of the run,
// not with the number of pods that have existed.
package soak

// Amounts holds CPU in milli-cores and memory in bytes.
type Amounts struct{ CPUMilli, MemoryBytes int64 }

func (a Amounts) plus(b Amounts) Amounts {
	return Amounts{CPUMilli: a.CPUMilli + b.CPUMilli, MemoryBytes: a.MemoryBytes + b.MemoryBytes}
}
