// Package throughput holds the parts of measuring how many pods per second
// kube-scheduler places with and without Evenkeel: the variants that are
// compared, the configuration of kube-scheduler for each, the handlers that
// decide nothing, what the API server's audit log reports bindings, and how
// figures are shown. It starts nothing; command throughput does.
//
// How a figure comes about:
//   - One cluster and all handlers stay for all variants; only kube-scheduler is started anew, with the variant's
//     configuration. What Evenkeel does beside answering, as observing, it does while every variant runs.
//   - Every round runs each variant once, every second round backwards, and ratios are of the same round.
//   - The kube-schedulers that are compared for the plugin live side by side instead, and place their pods in several turns a
//     round, seconds apart: they differ by less than what a machine gives from one minute to the next. While it is not its
//     turn a process is paused; an observation that came due meanwhile is made in its turn, so that it pays for more of them.
//   - The pods are there, and the plugin knows the usage of all nodes, before kube-scheduler is let begin: by its Lease, or by
//     its pause's end. The rate is from the first binding to the last, by the clock of the API server.
//   - kube-scheduler's own throttling of requests is out of the way, and the share of nodes that it scores is its default.
//   - Bound pods stay pending, so that what plays the kubelets takes next to nothing of the machine meanwhile.
//   - A figure counts only when the handler was asked for every pod and verb, and when the plugin kept pods off hot nodes.
//
// Everything shares the machine's processors: kube-scheduler, the handler, the
// API server and etcd. So the ratio to kube-scheduler alone is less than where
// the handler has a processor of its own.
package throughput
