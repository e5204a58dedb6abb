// Package throughput holds the parts of measuring how many pods per second kube-scheduler
// places with and without Evenkeel: the compared variants, kube-scheduler's configuration
// for each, the handlers that decide nothing, a reader of bindings in the API server's
// audit log, and the output of figures. It starts no processes; command throughput starts
// them.
//
// How a figure is measured:
//   - One cluster and all handlers serve all variants; only kube-scheduler is
//     restarted, with the variant's configuration. What Evenkeel does besides
//     answering, such as observing, it does while every variant runs.
//   - Every round runs each variant once, every second round backwards, and
//     ratios are of the same round.
//   - The kube-schedulers that are compared for the plugin, for mutual TLS and
//     for steering by admission run side by side instead, and place their pods
//     in several turns per round, seconds apart: they differ by less than the
//     machine's speed varies between minutes. Outside its turn a process is
//     paused; an observation that fell due meanwhile is made in its turn, so it
//     pays for more of them.
//   - The pods exist, and the plugin knows the usage of all nodes, before
//     kube-scheduler begins, when it gets its Lease or its pause ends. The rate
//     is from the first binding to the last, by the API server's clock.
//   - kube-scheduler's own throttling of requests is disabled in effect, and
//     the share of nodes that it scores is its default.
//   - Bound pods stay pending, so that the simulated kubelets use almost no
//     processor time.
//   - A figure only counts if the handler was asked for every pod and verb, and
//     if the plugin kept pods off hot nodes.
//
// kube-scheduler, the handler, the API server and etcd share the machine's
// processors. So the ratio to kube-scheduler alone is lower than if the handler
// had its own processor.
package throughput
