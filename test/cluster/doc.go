// Package cluster builds and runs a real Kubernetes cluster on loopback, using only Go
// and its modules: etcd, kube-apiserver, kube-controller-manager and kube-scheduler in
// one multi-call binary, metrics-server, and kwok, which simulates the kubelets of any
// number of nodes. The control plane can be of any Kubernetes release in the folder
// versions. Real code therefore makes every decision that Evenkeel depends on: admission,
// RBAC, disruption budgets, scheduling, metrics. Only containers do not run; annotations
// on their pods set the usage that they would have. Package kubelets provides nodes on
// which containers do run.
//
// Callers decide what to create on the cluster and what to expect; package scenario has
// shared scenarios. Invariants: nothing listens outside loopback; everything started is
// stopped in reverse order on Stop, at the end of the context and on a failed Start;
// children die with their parent; a state folder that the package did not make is never
// emptied.
package cluster
