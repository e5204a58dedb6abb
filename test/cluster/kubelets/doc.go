// Package kubelets runs real nodes in addition to kwok's simulated ones. Each is a
// kubelet of the tested release with containerd and runc, in its own namespaces and
// cgroup, so that it reports only its own usage. Containers run and really use CPU and
// memory.
//
// All nodes and their control plane share a site, which is a PID, mount and network
// namespace: Enter runs a command in a new site, and Start adds nodes from inside it.
// Invariants: nothing outside the site changes, except cgroups and files with the name of
// the site; all processes end with the process that made the site, and then a cleaner
// removes those cgroups and files, even if that process was killed. Unable reports in
// advance why a machine cannot run nodes.
package kubelets
