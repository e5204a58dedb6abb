package nodesync

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/flowcontrol"
)

const (
	listPage    = 500
	listTimeout = 30 * time.Second
)

// Report counts what Remove did.
type Report struct {
	// Nodes counts the changed nodes; the other fields count what was removed from
	// them.
	Nodes, Annotations, Labels, Taints int
	// Corrupt lists the nodes whose record could not be read. The record was removed, and
	// everything else was left in place.
	Corrupt []string
}

// Remove removes from all nodes everything that is ours according to the records, and the
// records themselves. If keys are given, it considers only these records. It does not
// remove content that another writer has changed since. Running it again has no effect.
// It should not run at the same time as a Syncer.
func Remove(ctx context.Context, client kubernetes.Interface, keys ...string) (Report, error) {
	w := writer{
		nodes: client.CoreV1().Nodes(), timeout: DefaultTimeout,
		limiter: flowcontrol.NewTokenBucketRateLimiter(DefaultQueriesPerSecond, concurrency),
	}
	var report Report
	// All nodes are listed before the first is changed, because changing them
	// takes longer than the API server keeps a list.
	recorded, err := w.recorded(ctx, keys)
	if err != nil {
		return report, fmt.Errorf("listing nodes: %w", err)
	}
	var errs []error
	for _, node := range recorded {
		if len(errs) == maxFailures || ctx.Err() != nil {
			break
		}
		if err := report.remove(ctx, &w, node); err != nil {
			errs = append(errs, err)
		}
	}
	return report, errors.Join(append(errs, ctx.Err())...)
}

// Find counts what Remove would remove, and changes nothing.
func Find(ctx context.Context, client kubernetes.Interface, keys ...string) (Report, error) {
	w := writer{nodes: client.CoreV1().Nodes()}
	var report Report
	recorded, err := w.recorded(ctx, keys)
	if err != nil {
		return report, fmt.Errorf("listing nodes: %w", err)
	}
	for i := range recorded {
		if decision := recorded[i].removal(recorded[i].Object); !decision.Patch.Empty() {
			report.count(recorded[i].Name, &decision)
		}
	}
	return report, nil
}

// recordedNode is a node and one of its records.
type recordedNode struct {
	Object
	key string
}

// recorded lists the nodes that have records, once per record.
func (w *writer) recorded(ctx context.Context, keys []string) ([]recordedNode, error) {
	var recorded []recordedNode
	if len(keys) == 0 {
		keys = recordKeys()
	}
	for next := ""; ; {
		list, err := w.page(ctx, next)
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			for _, key := range keys {
				if _, exists := list.Items[i].Annotations[key]; exists {
					recorded = append(recorded, recordedNode{ObjectOf(&list.Items[i]), key})
				}
			}
		}
		if next = list.Continue; next == "" {
			return recorded, nil
		}
	}
}

func (w *writer) page(ctx context.Context, from string) (*v1.NodeList, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	return w.nodes.List(ctx, metav1.ListOptions{Limit: listPage, Continue: from})
}

// removal decides what to remove from a node: everything that is ours according to its
// record, and the record itself.
func (n *recordedNode) removal(now Object) Decision {
	decision := Decide(Policy{Record: n.key}, Node{Object: now}, time.Time{})
	decision.Patch.recordChanged = decision.Patch.recordChanged || decision.Corrupt
	return decision
}

func (r *Report) remove(ctx context.Context, w *writer, node recordedNode) error {
	var decision Decision
	_, ended, err := w.apply(ctx, node.Object, func(object Object) Patch {
		decision = node.removal(object)
		return decision.Patch
	})
	if err == nil && ended == resultConflict {
		err = fmt.Errorf("patching node %q: others changed it at each attempt", node.Name)
	}
	if err != nil || ended != resultSuccess {
		return err
	}
	r.count(node.Name, &decision)
	return nil
}

// count adds what is removed from a node.
func (r *Report) count(node string, decision *Decision) {
	r.Nodes++
	r.Annotations += len(decision.Patch.annotations)
	r.Labels += len(decision.Patch.labels)
	r.Taints += len(decision.Patch.taints)
	if decision.Corrupt {
		r.Corrupt = append(r.Corrupt, node)
	}
}
