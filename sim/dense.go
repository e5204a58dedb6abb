package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
)

// Dense describes a fleet in which some nodes are hot with many steady pods,
// and the others are empty.
type Dense struct {
	Nodes, HotNodes int
	// Pods is the number of pods on each hot node. Together they request LoadPercent of it.
	Pods        int
	LoadPercent float64
	// Sigma is the standard deviation of the logarithm of a pod's usage; 0 makes the usage
	// of all pods equal.
	Sigma float64
	// Kind is the kind of the pods.
	Kind             PodKind
	ReplicasPerOwner int
	Steps            int
	Seed             uint64
}

// PodKind is the kind of pods in a Dense fleet, which determines the cost of
// moving one.
type PodKind string

// Plain pods belong to a Deployment and are an hour old, Old ones are two days old.
// Stateful pods belong to a StatefulSet, have a claim, and are two days old.
const (
	Plain    PodKind = "plain"
	Old      PodKind = "old"
	Stateful PodKind = "stateful"
)

// PodKinds lists all kinds.
var PodKinds = []PodKind{Plain, Old, Stateful}

// denseCapacity is the size of a node. denseRequested is the share of it, in percent,
// that the pods of a hot node request together.
var denseCapacity = cluster.Amounts{64_000, 256 << 30}

const denseRequested = 50

// DefaultDense returns one node at 85 % out of five, with 110 equal pods.
func DefaultDense() Dense {
	return Dense{Nodes: 5, HotNodes: 1, Pods: 110, LoadPercent: 85, Kind: Plain, ReplicasPerOwner: 10, Steps: stepsPerDay, Seed: 1}
}

const stepsPerDay = 24 * stepsPerHour

// MaxDensePods is the maximum number of pods on all hot nodes together.
const MaxDensePods = 500_000

func (d *Dense) validate() error {
	switch {
	case d.HotNodes < 1 || d.Nodes <= d.HotNodes || d.Nodes > 20_000:
		return fmt.Errorf("%d hot nodes of %d: must be at least 1, and fewer than all, of at most 20000", d.HotNodes, d.Nodes)
	case d.Pods < 1 || d.Pods > MaxDensePods/d.HotNodes:
		return fmt.Errorf("%d pods on each hot node: must be 1 to %d", d.Pods, MaxDensePods/d.HotNodes)
	case !(d.LoadPercent > 0 && d.LoadPercent <= 200):
		return fmt.Errorf("a load of %v%%: must be above 0 and at most 200", d.LoadPercent)
	case !(d.Sigma >= 0 && d.Sigma <= 3):
		return fmt.Errorf("a sigma of %v: must be 0 to 3", d.Sigma)
	case !slices.Contains(PodKinds, d.Kind):
		return fmt.Errorf("pods of kind %q: must be one of %v", d.Kind, PodKinds)
	case d.ReplicasPerOwner < 1:
		return fmt.Errorf("%d replicas per owner: must be at least 1", d.ReplicasPerOwner)
	case d.Steps < 1:
		return fmt.Errorf("%d steps: must be at least 1", d.Steps)
	}
	return nil
}

// NewDenseFleet makes the fleet that d describes. The pods of an owner are all on one hot
// node, and have all sizes.
func NewDenseFleet(d Dense) (*Fleet, error) {
	if err := d.validate(); err != nil {
		return nil, err
	}
	perNode := (d.Pods + d.ReplicasPerOwner - 1) / d.ReplicasPerOwner
	f := &Fleet{
		Name: "generated-dense", Nodes: d.Nodes, Capacity: denseCapacity, Owners: d.HotNodes * perNode, Steps: d.Steps, seed: d.Seed, age: 48 * time.Hour,
	}
	if d.Kind == Plain {
		f.age = time.Hour
	}
	for i := range f.Nodes {
		f.machines = append(f.machines, machine{node: newNode(i, f.Capacity), capacity: f.Capacity, maxUsage: f.Capacity})
	}
	requests := cluster.Amounts{}
	for k := range requests {
		requests[k] = f.Capacity[k] * denseRequested / 100 / int64(d.Pods)
	}
	random := rand.New(rand.NewPCG(d.Seed, 3)) // intentionally reproducible
	for node := range d.HotNodes {
		sizes, total := make([]float64, d.Pods), 0.0
		for i := range sizes {
			sizes[i] = math.Exp(d.Sigma * random.NormFloat64())
			total += sizes[i]
		}
		for i, size := range sizes {
			owner := node*perNode + i%perNode
			r := Replica{
				Owner: owner, Requests: requests, Home: f.machines[node].node.Name,
				allocation: cluster.Percents{size / total * d.LoadPercent / 100 * float64(f.Capacity[cluster.CPU]), stillBytes},
			}
			if d.Kind == Stateful {
				r.template = statefulPod(owner, requests)
			}
			f.Replicas = append(f.Replicas, r)
		}
	}
	return f, nil
}

// statefulPod is the template of a StatefulSet's pods, each of which has a
// claim.
func statefulPod(owner int, requests cluster.Amounts) *v1.Pod {
	name := "stateful-" + strconv.Itoa(owner)
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, GenerateName: name, Labels: map[string]string{"app": name},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: name, UID: types.UID(name), Controller: new(true)}},
		},
		Spec: v1.PodSpec{
			SchedulerName: v1.DefaultSchedulerName,
			Containers:    []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: listOf(requests)}}},
			Volumes: []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{
				PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data-" + name},
			}}},
		},
		Status: v1.PodStatus{Phase: v1.PodPending},
	}
}
