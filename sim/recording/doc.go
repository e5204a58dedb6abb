// Package recording defines the format in which a live cluster's nodes, pods and usage
// are stored for a replay. It consists of lines of JSON, compressed by gzip. Readings are
// written one by one, and an incomplete file can be read up to its last complete reading.
//
// The package defines which parts of a Node and a Pod are stored (only those that
// kube-scheduler's filters and scores read), how names are hidden on request, and which
// files are valid. Callers decide when a reading is taken and how it is replayed.
//
// The lines, in this order: first {"header":…}; then, each before the first reading that
// refers to it, {"node":…}, {"template":…} and {"pod":…}, numbered from 0 in order; and
// {"reading":…}, whose numbers grow and count intervals since the start. A reading lists
// "came", pairs of a pod and its node; "gone", the pods that no longer exist; and "nodes"
// and "pods", triples of a number, milli-cores and KiB: the mean of the five minutes
// before. Usage that is not listed was unknown, not zero.
package recording

import "time"

// Version is the version of the format. Readers accept no other version.
const Version = 1

// Mean is the period that the means of a reading cover.
const Mean = 5 * time.Minute
