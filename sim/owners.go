package sim

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/evictor/owners"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/scorer/admission"
)

var (
	_ watcher         = (*evenkeel)(nil)
	_ evictor.Cluster = (*evenkeel)(nil)
)

// SetPod implements watcher.
func (e *evenkeel) SetPod(pod *v1.Pod) {
	e.observer.Store().SetPod(pod)
	e.follower.PodChanged(pod)
}

// DeletePod implements watcher.
func (e *evenkeel) DeletePod(pod *v1.Pod) {
	e.observer.Store().DeletePod(pod.Namespace, pod.Name)
	e.follower.PodChanged(pod)
}

// Passed implements watcher.
func (e *evenkeel) Passed(now time.Time) { e.clock = now }

// Nominates implements watcher. As in production, only a replacement gets a node.
func (e *evenkeel) Nominates(pod *v1.Pod) string {
	if !e.nominates {
		return ""
	}
	return e.answerer.Land(pod, func(node string) bool {
		return admission.Admits(context.Background(), corelisters.NewNodeLister(e.nodes), node, pod) //nolint:forbidigo // the context is only for its log
	})
}

// ScaledDown implements watcher. An owner that wants fewer pods replaces correspondingly
// fewer evicted ones.
func (e *evenkeel) ScaledDown(ownerUID string) {
	e.observer.Ledger().CancelOwner(namespace, ownerUID, 1, e.clock)
}

// Pod implements evictor.Cluster.
func (e *evenkeel) Pod(_, name string) *v1.Pod {
	if i, ok := e.world.names[name]; ok {
		return e.world.replicas[i].pod
	}
	return nil
}

// Siblings implements evictor.Cluster. A pod is not ready while it waits for a node or
// has not begun to run.
func (e *evenkeel) Siblings(pod *v1.Pod) (siblings []*v1.Pod) {
	i, ok := e.world.byUID[pod.UID]
	if !ok {
		return nil
	}
	for _, k := range e.world.owners[e.world.replicas[i].Owner].replicas {
		switch r := &e.world.replicas[k]; {
		case r.waiting != nil:
			siblings = append(siblings, r.waiting)
		case r.pod != nil && r.ready.After(e.clock):
			starting := new(*r.pod)
			starting.Status = v1.PodStatus{Phase: v1.PodPending}
			siblings = append(siblings, starting)
		case r.pod != nil:
			siblings = append(siblings, r.pod)
		}
	}
	return siblings
}

// Owner implements evictor.Cluster.
func (e *evenkeel) Owner(pod *v1.Pod) owners.Owner {
	i, ok := e.world.byUID[pod.UID]
	if !ok {
		return owners.Owner{Missing: true}
	}
	owner := e.world.replicas[i].Owner
	o := &e.world.owners[owner]
	return owners.Owner{UID: ownerOf(pod), Replicas: e.world.wanted(owner), RollingOut: o.rolling, Created: o.rolled}
}

// Namespace implements evictor.Cluster. Recordings contain no Namespaces.
func (e *evenkeel) Namespace(string) *v1.Namespace { return &v1.Namespace{} }

// Waiting implements evictor.Cluster. In a replay, pods wait only because of Evenkeel's
// own moves.
func (e *evenkeel) Waiting() []safeguards.Waiting { return nil }

// Budgets implements evictor.Cluster.
func (e *evenkeel) Budgets(pod *v1.Pod) []*policyv1.PodDisruptionBudget {
	if i, ok := e.world.byUID[pod.UID]; ok {
		return e.world.budget(e.world.replicas[i].Owner, e.clock)
	}
	return nil
}

// Quotas implements evictor.Cluster. Recordings contain no quotas.
func (e *evenkeel) Quotas(string) []*v1.ResourceQuota { return nil }

// Replacement implements evictor.Cluster. A pod becomes ready some time after it was
// bound, and never restarts.
func (e *evenkeel) Replacement(move *ledger.Move) ledger.Replacement {
	i, ok := e.world.names[move.ReplacementName]
	if !ok || string(e.world.replicas[i].pod.UID) != move.Replacement {
		return ledger.Replacement{}
	}
	return ledger.Replacement{Exists: true, Ready: !e.world.replicas[i].ready.After(e.clock)}
}

// Session implements evictor.Cluster.
func (e *evenkeel) Session(context.Context) (*placement.Session, error) { return e.follower.Begin() }

// objects are the nodes and pods of a world, for kube-scheduler's filters. In a
// replay a volume follows its pod to any node, so pods have no claims.
type objects struct{ *evenkeel }

// Nodes implements placement.Objects.
func (o objects) Nodes() []*v1.Node { return o.world.nodes }

// Node implements placement.Objects. Nodes never change.
func (o objects) Node(name string) *v1.Node {
	if i, ok := o.world.index[name]; ok {
		return o.world.nodes[i]
	}
	return nil
}

// Pods implements placement.Objects.
func (o objects) Pods() []*v1.Pod {
	pods := o.world.pods()
	for i, pod := range pods {
		pods[i] = detached(pod)
	}
	return pods
}

// Pod implements placement.Objects.
func (o objects) Pod(namespace, name string) *v1.Pod {
	if pod := o.evenkeel.Pod(namespace, name); pod != nil {
		return detached(pod)
	}
	return nil
}

// detached returns a pod without claims.
func detached(pod *v1.Pod) *v1.Pod {
	if len(pod.Spec.Volumes) == 0 {
		return pod
	}
	without := new(*pod)
	without.Spec.Volumes = nil
	return without
}

var _ evictor.Evictions = unattended{}
