package admission

import (
	"context"
	"slices"
	"time"
)

const (
	// keptLooks is the number of looks that determine the usual duration. If the API
	// server stays slow for longer than these looks take, about 10 s, it is used for
	// steering anyway.
	keptLooks = 50
	// busyAtMost is how long moves wait for a busy API server. The bound is needed
	// because, if one of three servers is always slow and they answer in turn, the slow
	// server's duration never becomes usual.
	busyAtMost = 15 * time.Second
	// A look may take timesUsual times the median of the last looks, or aLook, before the
	// API server counts as busy. On two processors, a look took 9 ms at rest and 30 to
	// 160 ms during a rollout. With a thousand nodes it always took 52 ms.
	timesUsual, aLook = 2, 20 * time.Millisecond
	// quickLooks is the number of quick looks in a row that show that the API server is
	// no longer busy.
	quickLooks = 3
	// busyPause is the time between two looks at a busy API server.
	busyPause = 200 * time.Millisecond
)

// pace makes moves wait while the API server is busy, for example with a rollout. This
// matters because a key takes about eight calls. Until they are answered, the key steers
// every pod that its owner creates.
type pace struct {
	took  []time.Duration // durations of the last looks
	left  int             // number of looks that must still be quick
	again time.Time       // when to look next
	since time.Time       // since when moves have been waiting; zero while they are not
}

// busy reports whether moves must wait. A look that fails proves nothing.
func (p *pace) busy(ctx context.Context, look func(context.Context) error) bool {
	began := time.Now()
	if began.Before(p.again) {
		return true
	}
	if err := look(ctx); err != nil {
		return false
	}
	if began.Sub(p.again) > busyAtMost { // an earlier cycle waited
		p.since = time.Time{}
	}
	ended := time.Now()
	p.looked(ended.Sub(began))
	switch {
	case p.left == 0:
		p.since = time.Time{}
	case p.since.IsZero():
		p.since = began
	case ended.Sub(p.since) >= busyAtMost: // from now on, this duration counts as usual
		*p = pace{took: p.took[len(p.took)-1:]}
	}
	if p.left > 0 {
		p.again = ended.Add(busyPause)
	}
	return p.left > 0
}

func (p *pace) looked(took time.Duration) {
	p.took = append(slices.Clone(p.took[max(0, len(p.took)+1-keptLooks):]), took)
	if took > max(aLook, timesUsual*usual(p.took)) {
		p.left = quickLooks
	} else {
		p.left = max(0, p.left-1)
	}
}

func usual(took []time.Duration) time.Duration {
	sorted := slices.Sorted(slices.Values(took))
	return sorted[(len(sorted)-1)/2]
}
