package sim

import (
	"fmt"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
)

// machine is one node of a fleet of several sizes.
type machine struct {
	node *v1.Node
	// capacity is what its percentages are of: what pods may have. most is what can be measured at most.
	capacity, most cluster.Amounts
	// system is what it uses beside its pods, a value per step.
	system []cluster.Amounts
}

// node makes one of the nodes.
func (f *Fleet) node(i int) *v1.Node {
	if len(f.machines) > 0 {
		return f.machines[i].node
	}
	return newNode(i, f.Capacity)
}

// capacity is what a node's percentages are of.
func (f *Fleet) capacity(i int) cluster.Amounts {
	if len(f.machines) > 0 {
		return f.machines[i].capacity
	}
	return f.Capacity
}

// most is what a node can be measured at.
func (f *Fleet) most(i int) cluster.Amounts {
	if len(f.machines) > 0 {
		return f.machines[i].most
	}
	return f.Capacity
}

// system is what a node uses in a step beside its pods.
func (f *Fleet) system(i, step int) cluster.Amounts {
	if len(f.machines) > 0 && len(f.machines[i].system) > 0 {
		return f.machines[i].system[step%len(f.machines[i].system)]
	}
	return cluster.Amounts{}
}

// weight is how much a node has to the mean of all; 1 where all are alike.
func (f *Fleet) weight(i int) (weight cluster.Percents) {
	capacity := f.capacity(i)
	for k := range weight {
		weight[k] = float64(capacity[k]) / float64(f.Capacity[k])
	}
	return weight
}

func newNode(i int, capacity cluster.Amounts) *v1.Node {
	list := v1.ResourceList{
		v1.ResourceCPU:    *resource.NewMilliQuantity(capacity[cluster.CPU], resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(capacity[cluster.Memory], resource.BinarySI),
		v1.ResourcePods:   *resource.NewQuantity(1000, resource.DecimalSI),
	}
	name := fmt.Sprintf("node-%05d", i)
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{v1.LabelHostname: name}},
		Status: v1.NodeStatus{
			Capacity: list, Allocatable: list,
			Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
		},
	}
}

// podOf makes a pod by its replica's template.
func (w *world) podOf(r *replica, at time.Time) *v1.Pod {
	pod := r.template.DeepCopy()
	pod.Name = fmt.Sprintf("%s-%06d", pod.GenerateName, w.made)
	pod.UID, pod.ResourceVersion = types.UID("pod-"+strconv.Itoa(w.made)), strconv.Itoa(w.made)
	pod.CreationTimestamp = metav1.NewTime(at)
	return pod
}

// settle binds the pods whose first node the fleet says.
func (w *world) settle() error {
	for i := range w.replicas {
		if home := w.replicas[i].Home; home != "" && w.replicas[i].From == 0 {
			at := w.start.Add(-24 * time.Hour)
			if err := w.bind(i, w.newPod(i, at), home, at); err != nil {
				return err
			}
		}
	}
	return nil
}
