// Package measure is what the commands that measure have in common: bench and
// footprint here, soak and throughput on a local cluster.
//
// It has their statistics, the order in which rounds are run, Go's benchmark
// format as it is written and read, what metrics pages say, how tables are
// laid out, and the goals that more than one of them shows. What is measured,
// how, and for how long is up to each command.
package measure
