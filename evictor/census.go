package evictor

import "github.com/evenkeel/evenkeel/evictor/safeguards"

// census counts the pods of the latest observation. The result is cached for each
// observation, because a verdict is needed after every move. Terminating pods are not
// counted, but their replacements are. Before the first observation the census is empty,
// so percentage limits allow their minimum.
func (e *Evictor) census() *safeguards.Census {
	latest := e.config.Observer.Latest()
	if latest == nil {
		return &safeguards.Census{}
	}
	snapshot := latest.View.Snapshot
	if known := e.counted.Load(); known != nil && known.snapshot == snapshot {
		return known.census
	}
	c := &safeguards.Census{Namespaces: map[string]int{}, Owners: map[safeguards.Whose]int{}}
	for _, info := range snapshot.Nodes {
		member := info.Node.Member()
		for _, pod := range info.Pods {
			if pod.Terminating {
				continue
			}
			if member {
				c.All++
				c.Namespaces[pod.Namespace]++
			}
			if pod.Owner.UID != "" {
				c.Owners[safeguards.Whose{Namespace: pod.Namespace, OwnerUID: pod.Owner.UID}]++
			}
		}
	}
	e.counted.Store(&counted{snapshot, c})
	return c
}
