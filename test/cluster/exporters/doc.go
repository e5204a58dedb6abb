// Package exporters simulates sources of node usage other than kwok: kubelets
// at each node's own address (Kubelets), the exporter of crane-scheduler-plus
// (Statistics) and Crane's annotator (Annotator). All three report the
// cluster's true usage in their own format, unless a fault.Fault of a node or
// of all changes it.
//
// Nodes need an InternalIP each (cluster.NodeTemplate.OwnAddresses), except for
// the Annotator. The cluster's own API server decides whether a reader may have
// a kubelet's answer. Nothing listens outside loopback, and Stop, or the end of
// the context, ends all that Start began.
package exporters
