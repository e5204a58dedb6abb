// Package cluster builds and runs a real local Kubernetes cluster on loopback,
// using only Go and its modules: etcd, kube-apiserver, kube-controller-manager
// and kube-scheduler in one multi-call binary, of any release of Kubernetes
// with modules here, metrics-server, and kwok, which simulates the kubelets of
// any number of nodes. Every decision that Evenkeel depends on is therefore
// made by the real code: admission, RBAC, disruption budgets, scheduling, the
// metrics pipeline. Only containers do not run; annotations on their pods set
// the usage they would have. Package kubelets has nodes on which they do run.
//
// Callers decide what to put on the cluster and what to expect of it (package
// scenario has shared scenarios). Invariants: nothing listens outside loopback;
// everything started is stopped in reverse order on Stop, at the end of the
// context and on a failed Start; children die with their parent; a state folder
// that the package did not make is never emptied.
package cluster
