package sim

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/sim/kubescheduler"
)

// settle binds the pods whose first node is set by the fleet.
func (w *world) settle(began time.Time) error {
	for i := range w.replicas {
		if home := w.replicas[i].Home; home != "" && w.replicas[i].From == 0 {
			if err := w.bind(i, w.newPod(i, began), home, began); err != nil {
				return err
			}
		}
	}
	return nil
}

func newWorld(ctx context.Context, fleet *Fleet, config kubescheduler.Config, gap time.Duration) (*world, error) {
	w := &world{
		fleet: fleet, index: map[string]int{}, gap: gap, byUID: map[types.UID]int{}, names: map[string]int{}, containers: map[cluster.Amounts][]v1.Container{},
		replicas: make([]replica, len(fleet.Replicas)), assigned: make([][]*v1.Pod, fleet.Nodes),
		start: beginning, began: beginning, now: beginning, usage: newMeter(fleet), owners: make([]ownerState, fleet.Owners),
		maxUnavailable: noBudget,
	}
	for i := range fleet.Nodes {
		node := fleet.machines[i].node
		w.nodes, w.index[node.Name] = append(w.nodes, node), i
	}
	scheduler, err := kubescheduler.New(ctx, config, w.nodes)
	if err != nil {
		return nil, err
	}
	w.scheduler = scheduler
	for i := range w.replicas {
		w.replicas[i] = replica{Replica: &fleet.Replicas[i], node: -1}
		owner := &w.owners[fleet.Replicas[i].Owner]
		owner.replicas = append(owner.replicas, i)
	}
	return w, nil
}

// populate places the first pods of the replicas that exist from the start: on the node
// that the fleet sets, otherwise where kube-scheduler puts them. It does not notify
// watchers.
func (w *world) populate() error {
	began := w.start.Add(-w.fleet.age)
	if err := w.settle(began); err != nil {
		return err
	}
	for _, i := range w.fleet.order() {
		if w.replicas[i].node >= 0 || w.replicas[i].From > 0 {
			continue
		}
		pod := w.newPod(i, began)
		node, err := w.scheduler.Place(pod)
		if err != nil {
			return fmt.Errorf("placing initial pod %d of %d: %w", w.made, len(w.replicas), err)
		}
		if err := w.bind(i, pod, node, began); err != nil {
			return err
		}
	}
	return nil
}

// adopt binds pods to the nodes that they are on in another world.
func (w *world) adopt(places []string) error {
	began := w.start.Add(-w.fleet.age)
	for _, i := range byPlace(places) {
		if places[i] == "" {
			continue
		}
		w.made = i // pod names must not depend on the order
		if err := w.bind(i, w.newPod(i, began), places[i], began); err != nil {
			return err
		}
	}
	w.made = len(places)
	return nil
}
