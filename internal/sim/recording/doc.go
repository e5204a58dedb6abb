// Package recording is the form in which a live cluster's nodes, pods and usage
// are kept for a replay: lines of JSON, packed by gzip, written reading by
// reading and readable as far as they were written.
//
// It decides what of a Node and a Pod is kept (what kube-scheduler's filters
// and scores read, and nothing else), what a name becomes where names are to be
// hidden, and what is wrong with a file that is no sound recording. When a
// reading is taken and what a replay makes of it is left to others.
//
// The lines, in this order: first {"header":…}; then, each before the first
// reading that speaks of it, {"node":…}, {"template":…} and {"pod":…}, numbered
// from 0 in order; and {"reading":…}, whose numbers grow and are counted in
// intervals since the start. A reading lists "came", pairs of a pod and its
// node; "gone", the pods that are not there any more; and "nodes" and "pods",
// triples of a number, milli-cores and KiB: the mean of the five minutes
// before. What is not listed there was not known, which is not nothing.
package recording

import "time"

// Version is that of the form. A reader takes no other.
const Version = 1

// Mean is how long the means of a reading reach back.
const Mean = 5 * time.Minute
