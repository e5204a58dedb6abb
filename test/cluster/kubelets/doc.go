// Package kubelets runs real nodes beside the simulated ones of kwok: each is a kubelet
// of the tested release with containerd and runc, in namespaces and a cgroup of its own,
// so that it reports only its own usage. Containers run and really use CPU and memory.
//
// All nodes and their control plane share a site, which is a PID, mount and network
// namespace: Enter runs a command in a new one, and Start adds nodes from inside.
// Invariants: nothing outside of the site changes, except cgroups and files with the name
// of the site; all processes end with the process that made the site, and then a cleaner
// removes those cgroups and files, even if that process was killed. Unable tells in
// advance why a machine cannot run nodes.
package kubelets
