package strategies

import "github.com/evenkeel/evenkeel/cluster"

// Owner is a controller with the namespace of its pods. The UID alone is not enough,
// because anyone who creates pods in another namespace can name any UID as their
// controller.
type Owner struct{ Namespace, UID string }

// OwnerOf returns a pod's owner.
func OwnerOf(pod *cluster.Pod) Owner { return Owner{pod.Namespace, pod.Owner.UID} }

// Tally counts moves by owner, and by namespace under an Owner without a UID.
type Tally map[Owner]int

// Add counts the move of a pod.
func (t Tally) Add(pod *cluster.Pod) {
	if owner := OwnerOf(pod); owner.UID != "" {
		t[owner]++
	}
	t[Owner{Namespace: pod.Namespace}]++
}

// Beside returns how many of the counted moves belong to a pod's owner, and how many are
// in its namespace.
func (t Tally) Beside(pod *cluster.Pod) (ofOwner, ofNamespace int) {
	return t[OwnerOf(pod)], t[Owner{Namespace: pod.Namespace}]
}
