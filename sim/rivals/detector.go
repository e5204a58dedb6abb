package rivals

import "time"

// Defaults of LowNodeLoad's anomalyCondition and detectorCacheTimeout.
const (
	abnormalLooks   = 5 // a node is abnormal after more consecutive looks than this
	anomalyTimeout  = time.Minute
	detectorTimeout = 5 * time.Minute
)

// detector counts consecutive looks at which a node was above a threshold.
type detector struct {
	looks    int
	abnormal bool
	// expires is when the abnormal state ends. If there is no look until forgotten, counting
	// starts over.
	expires, forgotten time.Time
}

// over records a look at which the node was above a threshold, and reports whether the
// node is abnormal.
func (d *detector) over(now time.Time) bool {
	if now.After(d.forgotten) || d.abnormal && d.expires.Before(now) {
		d.reset()
	}
	d.forgotten = now.Add(detectorTimeout)
	if d.looks++; !d.abnormal && d.looks > abnormalLooks {
		*d = detector{abnormal: true, expires: now.Add(anomalyTimeout), forgotten: d.forgotten}
	}
	return d.abnormal
}

// reset makes the node normal.
func (d *detector) reset() { d.abnormal, d.looks = false, 0 }
