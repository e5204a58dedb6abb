// Package measure is shared by the commands that measure: bench and footprint here, soak
// and throughput on a local cluster.
//
// It contains their statistics, the order of subjects in a round, a reader and writer for
// Go's benchmark format, a reader for metrics pages, the layout of tables, and the goals
// that more than one of them shows. Each command defines what it measures, how, and for
// how long.
package measure
