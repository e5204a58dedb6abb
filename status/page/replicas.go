package page

import "github.com/evenkeel/evenkeel/observe/usage"

// Replicas returns the observed pods with the same owner as the named pod, in which the
// process itself runs. A process outside the cluster has no replicas.
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
