package owners

import (
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/reasons"
)

// Tally is the combined state of an owner's pods.
type Tally struct {
	// Available counts the available pods, and Missing those that are not available for
	// any reason. Finished pods count as neither.
	Available, Missing int
	// Young counts the missing pods that have been ready for less time than their owner
	// requires. A PodDisruptionBudget counts them as healthy.
	Young int
	// leaving counts the missing pods that are terminating or about to terminate, and
	// failed those that have failed and still exist.
	leaving, failed int
	// For an ordered owner, down is the lowest ordinal without an available pod, and
	// absent the highest ordinal whose pod is gone or leaving; -1 for none.
	down, absent int
}

// Count returns the Tally of an owner's pods. leaving reports whether a pod was evicted
// although the watch does not show it yet.
func (o *Owner) Count(pods []*v1.Pod, leaving func(uid string) bool, now time.Time) Tally {
	n := Tally{down: -1, absent: -1}
	var states map[int]state // by ordinal
	if o.Ordered {
		states = make(map[int]state, len(pods))
	}
	for _, pod := range pods {
		is := gone
		if pod.Status.Phase == v1.PodFailed {
			n.failed++
		}
		switch leaves := safeguards.Disrupted(pod) || leaving(string(pod.UID)); {
		case !leaves && o.Available(pod, now):
			n.Available++
			is = available
		case !podutil.IsPodTerminal(pod):
			n.Missing++
			if leaves {
				n.leaving++
				break
			}
			is = unavailable
			if podutil.IsPodReady(pod) {
				n.Young++
			}
		}
		if i, ok := ordinal(pod.Name); ok && o.Ordered {
			states[i] = max(states[i], is)
		}
	}
	if o.Ordered {
		n.down, n.absent = o.gaps(states)
	}
	return n
}

// WithAway returns the tally as if the given number of the available pods were
// leaving in addition. It does not know which ones, so it must not be used for
// owners that create their pods in order.
func (n Tally) WithAway(pods int) Tally {
	pods = min(max(pods, 0), n.Available)
	n.Available, n.Missing, n.leaving = n.Available-pods, n.Missing+pods, n.leaving+pods
	return n
}

// state is the state of the pod with an ordinal.
type state byte

const (
	gone state = iota
	unavailable
	available
)

// gaps returns down and absent of a Tally. It checks no more ordinals than
// there are pods, because someone may request two billion replicas.
func (o *Owner) gaps(states map[int]state) (down, absent int) {
	if o.Sparse {
		return known(states)
	}
	end := o.First + o.Replicas
	for down = o.First; down < end && states[down] == available; down++ {
	}
	for absent = end - 1; absent >= o.First && states[absent] != gone; absent-- {
	}
	if down == end {
		down = -1
	}
	if absent < o.First {
		absent = -1
	}
	return down, absent
}

// known returns the same as gaps, but considers only existing pods.
func known(states map[int]state) (down, absent int) {
	down, absent = -1, -1
	for i, is := range states {
		if is != available && (down < 0 || i < down) {
			down = i
		}
		if is == gone {
			absent = max(absent, i)
		}
	}
	return down, absent
}

// Available reports whether a pod is ready and has been for as long as its owner
// requires.
func (o *Owner) Available(pod *v1.Pod, now time.Time) bool {
	_, ready := podutil.GetPodCondition(&pod.Status, v1.PodReady)
	if ready == nil || ready.Status != v1.ConditionTrue {
		return false
	}
	if o.MinReady <= 0 {
		return true
	}
	since := ready.LastTransitionTime.Time
	if since.IsZero() { // not stored for a pod that became ready within SlowStart
		if pod.Status.StartTime == nil {
			return false
		}
		since = pod.Status.StartTime.Add(cluster.SlowStart)
	}
	return now.Sub(since) >= o.MinReady
}

// Recreates returns why the owner would not replace this pod now, given the state of all
// of its pods; empty if it would.
func (o *Owner) Recreates(pod *v1.Pod, all Tally) reasons.Reason {
	// A Job counts a failed pod with some delay.
	if o.Limited && all.leaving+max(all.failed-o.Failed, 0) >= o.Retries {
		return reasons.JobWouldFail
	}
	i, known := ordinal(pod.Name)
	if !known || !o.Ordered {
		return ""
	}
	// If a pod with a higher ordinal is already gone, its replacement would have to wait
	// for this one, too.
	if all.down >= 0 && all.down < i || all.absent > i {
		return reasons.OwnerCreatesInOrder
	}
	return ""
}

// ordinal returns the ordinal at the end of a pod's name, which is also where a
// StatefulSet reads it.
func ordinal(pod string) (int, bool) {
	i := strings.LastIndexByte(pod, '-')
	if i < 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(pod[i+1:], 10, 32)
	return int(n), err == nil && n >= 0
}
