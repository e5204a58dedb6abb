package usage

import (
	"hash/maphash"

	"github.com/evenkeel/evenkeel/cluster"
)

// owners assigns numbers to the owners of pods, starting at 1, so that an owner's data is
// found without hashing its UID for each of its pods. An owner without pods is dropped
// and its number reused.
type owners struct {
	workloads

	seed    maphash.Seed
	numbers map[ownerKey]ownerNumber
	list    []knownOwner // by number
	free    []ownerNumber
}

// ownerNumber is the number of an owner.
type ownerNumber int32

type knownOwner struct {
	ownerKey

	pods     int
	key      Workload // 0 if there is none
	workload *workload
	// family is the family of the first pod with which the owner was seen.
	family familyKey
}

// noOwner is the owner number for pods without an owner.
const noOwner ownerNumber = 0

func newOwners(seed maphash.Seed) owners {
	return owners{
		seed: seed, numbers: map[ownerKey]ownerNumber{}, list: make([]knownOwner, 1), workloads: workloads{known: map[Workload]*workload{}},
	}
}

// hold returns the number of a pod's owner, and adds the pod to the owner's count.
func (o *owners) hold(pod *cluster.Pod) ownerNumber {
	if pod.Owner.UID == "" {
		return noOwner
	}
	key := ownerKey{pod.Namespace, pod.Owner.UID}
	number, ok := o.numbers[key]
	if !ok {
		if last := len(o.free) - 1; last >= 0 {
			number, o.free = o.free[last], o.free[:last]
		} else {
			number, o.list = ownerNumber(len(o.list)), append(o.list, knownOwner{})
		}
		kin := kinOf(pod)
		o.list[number] = knownOwner{ownerKey: key, family: keyOf(o.seed, &kin)}
		if pod.Owner.Kind != jobKind {
			o.list[number].key = workloadOf(&kin)
			o.list[number].workload = o.workloads.hold(o.list[number].key)
		}
		o.numbers[key] = number
	}
	o.list[number].count(1)
	return number
}

// release removes one pod from its owner's count.
func (o *owners) release(number ownerNumber) {
	if number == noOwner {
		return
	}
	if o.list[number].count(-1); o.list[number].pods == 0 {
		o.workloads.drop(o.list[number].key, o.list[number].workload)
		delete(o.numbers, o.list[number].ownerKey)
		o.list[number], o.free = knownOwner{}, append(o.free, number)
	}
}

// count adds to the number of pods of the owner and of its workload.
func (o *knownOwner) count(by int) {
	o.pods += by
	if o.workload != nil {
		o.workload.pods += by
	}
}

// begin starts a part of a period. Owners that arrived while too many workloads
// were known get a workload if there is space now.
func (o *owners) begin(part int64) {
	if part == o.part {
		return
	}
	o.workloads.begin(part)
	for number := range o.list {
		if owner := &o.list[number]; owner.key != 0 && owner.workload == nil && owner.pods > 0 {
			if owner.workload = o.workloads.hold(owner.key); owner.workload != nil {
				owner.workload.pods += owner.pods
			}
		}
	}
}
