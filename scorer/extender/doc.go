// Package extender answers kube-scheduler over HTTP: which of these nodes may
// take this pod (filter), and which are preferred (prioritize).
//
// It decides nothing about usage. It reads the request in one pass over its bytes, asks
// an Answerer by node index, and writes the reply. Whatever the Answerer returns or the
// client sends, the following holds:
//
//   - scheduling never suffers from a lack of data: an unknown node is kept,
//     an overloaded server keeps all nodes, and without Config.RejectAll a
//     reply never rejects every node;
//   - an invalid request gets a status other than 200 and a one-line error,
//     which kube-scheduler ignores if the extender is ignorable;
//   - allocations per request do not grow in proportion to the node names.
//
// The wire format is that of k8s.io/kube-scheduler/extender/v1. Replies omit
// what kube-scheduler assumes anyway: a node that a filter reply does not
// mention counts as failed and unresolvable (no preemption), and a node that a
// prioritize reply does not mention scores 0.
package extender
