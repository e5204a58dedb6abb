// Package sim replays usage through a cluster in virtual time: what the pods of
// a fleet use is taken from a trace, who evicts and who places them is a
// Variant, and what came of it is measured. Evenkeel's own rooms decide as in
// production, and so do kube-scheduler's plugins and upstream's descheduler
// plugins; only doing is replaced: an eviction restarts its pod at once, for a
// stated time, unless a PodDisruptionBudget forbids it, and rollouts replace
// pods a few at a time.
//
// Invariants: time is the step of the trace and an offset within it, never the
// machine's; the same Config gives the same Result; variants of one run begin
// with the same pods on the same nodes; demand goes with the replica, never
// with the pod, so a replacement goes on where its predecessor stopped; deploys
// come at the same times whoever evicts.
package sim

import "time"

// Step is how long a value of a trace lasts.
const Step = 5 * time.Minute
