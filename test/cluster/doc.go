// Package cluster builds and runs a real local Kubernetes cluster on loopback,
// from nothing but Go and its modules: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler and metrics-server in one multi-call
// binary, and kwok, which plays the kubelets of as many nodes as a test wants.
// Every decision that Evenkeel depends on is therefore taken by the real code:
// admission, RBAC, disruption budgets, scheduling, the metrics pipeline. Only
// containers are not run; what they would use is written on their pods as
// annotations.
//
// The package leaves to its callers what to put on the cluster and what to
// expect of it (package scenario has the shared stories). Its invariants:
// nothing listens outside loopback, everything started is stopped in reverse
// order on Stop, on the end of the context, on a failed Start, and children die
// with their parent; a state folder that it did not make is never emptied.
package cluster
