package page

import "github.com/evenkeel/evenkeel/observe/usage"

// Replicas returns the pods of the same owner as a process's own pod, which has
// this name: the replicas that were observed. A process outside of the cluster
// has none.
func Replicas(view *usage.View, namespace, name string) []Replica {
	all, owner := []Replica{}, ""
	for _, node := range view.Snapshot.Nodes {
		for _, pod := range node.Pods {
			if pod.Namespace == namespace && pod.Name == name {
				owner = pod.Owner.UID
			}
		}
	}
	if owner == "" {
		return all
	}
	for _, node := range view.Snapshot.Nodes {
		for _, pod := range node.Pods {
			if pod.Namespace == namespace && pod.Owner.UID == owner {
				all = append(all, Replica{Pod: namespace + "/" + pod.Name, Node: pod.Node, Ready: pod.Ready, This: pod.Name == name})
			}
		}
	}
	return all
}
