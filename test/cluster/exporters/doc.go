// Package exporters simulates sources of node usage other than kwok: kubelets at each
// node's own address (Kubelets), the exporter of crane-scheduler-plus (Statistics) and
// Crane's annotator (Annotator). All three report the cluster's true usage in their own
// format, unless a fault.Fault of one or all nodes changes it.
//
// Except for the Annotator, each node needs its own InternalIP
// (cluster.NodeTemplate.OwnAddresses). The cluster's API server decides whether a reader
// may read from a kubelet. Nothing listens outside loopback, and everything that Start
// starts ends when Stop is called or the context ends.
package exporters
