// Package sim replays usage through a cluster in virtual time. A trace provides the usage
// of a fleet's pods, a Variant defines who evicts and who places them, and the outcome is
// measured. As in production, decisions are made by Evenkeel's own packages,
// kube-scheduler's plugins and upstream's descheduler plugins. Other projects are
// represented by their published rules. Only the execution is simulated: an eviction
// replaces its pod immediately, with a given downtime, unless a PodDisruptionBudget
// forbids it, and rollouts replace a few pods at a time.
//
// Invariants: time is a step of the trace plus an offset within the step, never the
// machine's time; the same Config gives the same Result; all variants of a run begin with
// the same pods on the same nodes; demand belongs to the replica, not to the pod, so a
// replacement continues where its predecessor stopped; deploys happen at the same times
// in every variant.
package sim

import "time"

// Step is the duration of one value in a trace.
const Step = 5 * time.Minute
