package usage

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
)

// Workload identifies the pods that do the same work across versions: those of a
// Deployment, otherwise those of one owner. It is 64 bits of a hash that is the same in
// every process, and nobody can find two names with the same hash.
type Workload uint64

func workloadOf(kin *Kin) Workload {
	kind, name := kin.Owner.Kind, kin.Owner.Name
	if family := cluster.FamilyOf(kin.Namespace, kin.Owner, kin.TemplateHash); family != (cluster.Family{}) {
		kind, name = "Deployment", family.Name
	}
	sum := sha256.Sum256([]byte(kin.Namespace + "\x00" + kind + "\x00" + name))
	return Workload(binary.LittleEndian.Uint64(sum[:]))
}

// workloads holds recurring usage patterns by workload, so that they outlive
// single pods.
type workloads struct {
	known map[Workload]*workload
	part  int64 // the part to which samples are added
}

// workload holds what is known of one workload; nil for pods without an owner.
type workload struct {
	forecast.Recurrence

	// owners is the number of owners with pods (versions of a Deployment); pods is
	// the total number of their pods.
	owners, pods int
	// without is the number of consecutive parts without a sample.
	without int32
	// among is the workload's pattern adapted to its current number of pods.
	among struct {
		of   *forecast.Pattern
		pods int
		is   *forecast.Pattern
	}
	// ahead is the prediction of that pattern from a given second on. It is cached
	// because a View needs it for each pod of the workload.
	ahead   forecast.Ahead
	aheadOf int64
}

const (
	// partsWithout is the number of parts without a sample for which a workload
	// is remembered: three periods, which covers a weekend.
	partsWithout = 3 * forecast.Parts
	// mostSkipped is the maximum number of parts counted between two samples. Without the
	// bound, a clock that was wrong at one of them would make all patterns be forgotten.
	mostSkipped = forecast.Parts / 2
	// mostWorkloads bounds the remembered workloads; beyond it, new ones have no
	// pattern until others are forgotten.
	mostWorkloads = 200_000
)

// hold returns the workload of an owner's pods; nil if there are too many
// workloads.
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

// drop records that an owner no longer has pods. A workload that was observed
// for less than a part of a period is not kept.
func (w *workloads) drop(key Workload, known *workload) {
	if known == nil {
		return
	}
	if known.owners--; known.owners == 0 && known.Pattern() == nil {
		delete(w.known, key)
	}
}

// forgetPatterns starts over because the period has changed.
func (w *workloads) forgetPatterns() {
	for _, known := range w.known {
		known.forget()
	}
	w.part = 0
}

// forget forgets what was learned of a workload, but not its pods.
func (w *workload) forget() {
	*w = workload{owners: w.owners, pods: w.pods}
}

// release resets the counts of owners and pods, because all of them are counted again.
func (w *workloads) release() {
	for _, known := range w.known {
		known.owners, known.pods = 0, 0
	}
}

// begin sets the part of a period to which samples are added from now on, and adds the
// part that ended to the patterns.
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
			known.forget() // the workload has pods, but they are not measured
		} else {
			delete(w.known, key)
		}
	}
}

// add adds a sample, in milli-cores, to a part of the period; part 0 for none.
func (w *workload) add(part, milliCores int64) {
	if w == nil || part == 0 {
		return
	}
	w.without = 0
	w.Add(part, milliCores)
}

// pattern returns the pattern of the workload for its current number of pods;
// nil if nothing is known.
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

// aheadAt returns what a workload with a pattern is expected to use from now
// on.
func (w *workload) aheadAt(clock forecast.Clock, now time.Time) *forecast.Ahead {
	pattern := w.pattern()
	if at := now.Unix(); w.aheadOf != at {
		w.ahead, w.aheadOf = pattern.Ahead(clock, now), at
	}
	return &w.ahead
}

// lasts reports whether a pod is expected to exist a period later, because it has run for
// a period, or because its workload's pattern was observed for one. A Job's pod is not
// expected to, because it ends.
func (w *workload) lasts(pod *cluster.Pod, clock forecast.Clock, now time.Time) bool {
	if pod.Owner.Kind == jobKind {
		return false
	}
	return !pod.Started.IsZero() && now.Sub(pod.Started) >= clock.Period || w != nil && w.Pattern() != nil && w.Pattern().Periods > 0
}

// jobKind is the kind of owner whose pods end. They have no workload, because
// the next Job has another name.
const jobKind = "Job"
