// Package throughput contains the parts for measuring how many pods per second
// kube-scheduler places with and without Evenkeel: the compared variants,
// kube-scheduler's configuration for each, handlers that decide nothing, a reader of
// bindings in the API server's audit log, and the output of figures. It starts no
// processes; command throughput does that.
//
// How a figure is measured:
//   - All variants share one cluster and all handlers; only kube-scheduler is
//     restarted, with the variant's configuration. Evenkeel's other work, such
//     as observing, continues while any variant runs.
//   - Every round runs each variant once, every second round in reverse order.
//     Ratios are computed from figures of the same round.
//   - The kube-schedulers that are compared for the plugin, for mutual TLS and
//     for steering by admission run side by side instead. They place their pods
//     in several turns per round, seconds apart, because they differ by less
//     than the machine's speed varies between minutes. A process is paused
//     outside its turn. An observation that fell due while it was paused is made
//     in its turn, so it makes relatively more observations.
//   - The pods exist, and the plugin knows the usage of all nodes, before
//     kube-scheduler begins, which is when it gets its Lease or is resumed. The
//     rate is computed from the first binding to the last, by the API server's
//     clock.
//   - kube-scheduler's own throttling of requests is practically disabled. It
//     scores its default share of the nodes.
//   - Bound pods stay pending, so that the simulated kubelets use almost no
//     processor time.
//   - A figure counts only if the handler was called for every pod and verb,
//     and if the plugin kept pods off hot nodes.
//
// kube-scheduler, the handler, the API server and etcd share the machine's processors, so
// the ratio to kube-scheduler alone is lower than if the handler had its own processor.
package throughput
