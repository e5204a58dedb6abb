package usage

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
)

// Workload identifies what pods do the same work, whichever version of it: a
// Deployment, else their owner. It is 64 bits of a hash that is the same in each
// process, and for which nobody can find another name.
type Workload uint64

func workloadOf(kin *Kin) Workload {
	kind, name := kin.Owner.Kind, kin.Owner.Name
	if family := cluster.FamilyOf(kin.Namespace, kin.Owner, kin.TemplateHash); family != (cluster.Family{}) {
		kind, name = "Deployment", family.Name
	}
	sum := sha256.Sum256([]byte(kin.Namespace + "\x00" + kind + "\x00" + name))
	return Workload(binary.LittleEndian.Uint64(sum[:]))
}

// workloads holds what comes back in the usage of pods, by what they work for, so
// that it outlives them.
type workloads struct {
	known map[Workload]*workload
	part  int64 // that samples are added in
}

// workload is what is known of one; nil of the pods without an owner.
type workload struct {
	forecast.Recurrence

	// owners is how many owners with pods it has, versions of a Deployment, and pods
	// how many they have together.
	owners, pods int
	// without is for how many parts it had no sample.
	without int32
	// among is its pattern for as many pods as it has.
	among struct {
		of   *forecast.Pattern
		pods int
		is   *forecast.Pattern
	}
	// ahead is what that expects from a second on, which a View asks for each of its
	// pods.
	ahead   forecast.Ahead
	aheadOf int64
}

const (
	// partsWithout is for how many parts a workload is remembered without a sample:
	// three periods, over a weekend.
	partsWithout = 3 * forecast.Parts
	// mostSkipped is how many parts count at most between two samples. A clock that
	// was wrong for one of them is no reason to forget all.
	mostSkipped = forecast.Parts / 2
	// mostWorkloads bounds those that are remembered; beyond it, new ones have no
	// pattern until others are forgotten.
	mostWorkloads = 200_000
)

// hold returns the workload of an owner's pods, nil if there are too many.
func (w *workloads) hold(key Workload) *workload {
	known, ok := w.known[key]
	if !ok && len(w.known) < mostWorkloads {
		known = &workload{}
		w.known[key] = known
	}
	if known != nil {
		known.owners++
	}
	return known
}

// drop says that an owner has no pods any more. Of a workload that was not seen for a
// part of a period nothing is kept.
func (w *workloads) drop(key Workload, known *workload) {
	if known == nil {
		return
	}
	if known.owners--; known.owners == 0 && known.Pattern() == nil {
		delete(w.known, key)
	}
}

// forgetPatterns begins anew, because another period is looked for.
func (w *workloads) forgetPatterns() {
	for _, known := range w.known {
		known.forget()
	}
	w.part = 0
}

// forget forgets what was seen of a workload, but not its pods.
func (w *workload) forget() {
	*w = workload{owners: w.owners, pods: w.pods}
}

// release forgets the owners of all: their pods are counted anew.
func (w *workloads) release() {
	for _, known := range w.known {
		known.owners, known.pods = 0, 0
	}
}

// begin says which part of a period samples are added to from now on; patterns take
// account of the one that ended.
func (w *workloads) begin(part int64) {
	if part == w.part {
		return
	}
	skipped := int32(min(max(part-w.part, 0), mostSkipped))
	if w.part == 0 {
		skipped = 0 // nothing was sampled before
	}
	w.part = part
	for key, known := range w.known {
		known.Finish(part, known.pods)
		if known.without += skipped; known.without <= partsWithout {
			continue
		}
		if known.owners > 0 {
			known.forget() // it has pods, which nobody measures
		} else {
			delete(w.known, key)
		}
	}
}

// add adds a sample, in milli-cores, to the part of a period; part 0 for none.
func (w *workload) add(part, milliCores int64) {
	if w == nil || part == 0 {
		return
	}
	w.without = 0
	w.Add(part, milliCores)
}

// pattern returns what is known of the workload, for as many pods as it has now;
// nil if nothing is.
func (w *workload) pattern() *forecast.Pattern {
	if w == nil || w.Pattern() == nil {
		return nil
	}
	if a := &w.among; a.of != w.Pattern() || a.pods != w.pods {
		a.of, a.pods, a.is = w.Pattern(), w.pods, w.Pattern().Among(w.pods)
		w.aheadOf = 0
	}
	return w.among.is
}

// aheadAt returns what a workload that has a pattern is expected to use from now on.
func (w *workload) aheadAt(clock forecast.Clock, now time.Time) *forecast.Ahead {
	pattern := w.pattern()
	if at := now.Unix(); w.aheadOf != at {
		w.ahead, w.aheadOf = pattern.Ahead(clock, now), at
	}
	return &w.ahead
}

// lasts reports whether pods that work for it, or have run for a period, are
// expected to be there a period later. Those of a Job end.
func (w *workload) lasts(pod *cluster.Pod, clock forecast.Clock, now time.Time) bool {
	if pod.Owner.Kind == jobKind {
		return false
	}
	return !pod.Started.IsZero() && now.Sub(pod.Started) >= clock.Period || w != nil && w.Pattern() != nil && w.Pattern().Periods > 0
}

// jobKind is the kind of owners whose pods end. They have no workload: the next one
// has another name.
const jobKind = "Job"
