// Package exporters plays what nodes have besides kwok to tell how loaded they
// are: kubelets that answer at each node's own address (Kubelets), the exporter
// of crane-scheduler-plus (Statistics) and Crane's annotator (Annotator). All
// three tell the truth of the cluster in their own format, unless a fault.Fault
// says otherwise for a node or for all.
//
// Nodes need an InternalIP each (cluster.NodeTemplate.OwnAddresses), except for
// the Annotator. Whether a reader may have a kubelet's answer is left to the
// cluster's own API server. Nothing listens outside loopback, and Stop, or the
// end of the context, ends all that Start began.
package exporters
