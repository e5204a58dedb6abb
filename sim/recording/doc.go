// Package recording defines the format in which a live cluster's nodes, pods and usage
// are stored for a replay. It consists of lines of JSON, compressed by gzip. They are
// written reading by reading, and can be read as far as they were written.
//
// The package decides which parts of a Node and a Pod are stored (only those that
// kube-scheduler's filters and scores read), how names are hidden on request, and what is
// wrong with an invalid file. Callers decide when a reading is taken and how it is
// replayed.
//
// The lines, in this order: first {"header":…}; then, each before the first reading that
// refers to it, {"node":…}, {"template":…} and {"pod":…}, numbered from 0 in order; and
// {"reading":…}, whose numbers grow and count intervals since the start. A reading lists
// "came", pairs of a pod and its node; "gone", the pods that no longer exist; and "nodes"
// and "pods", triples of a number, milli-cores and KiB: the mean of the five minutes
// before. Usage that is not listed was unknown, not zero.
package recording

import "time"

// Version is the version of the format. A reader accepts no other version.
const Version = 1

// Mean is how far the means of a reading reach back.
const Mean = 5 * time.Minute
