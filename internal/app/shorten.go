package app

import (
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/policy"
)

// shorten has usage without history watched for at most o.WatchAtMost, if a node
// can be called hot by then.
func (o *Options) shorten(load *policy.LoadPolicy) {
	past := func(s policy.Source) bool { return s.Config.Describe().GivesWindows }
	u, h := &load.Usage, &load.Hot
	if o.WatchAtMost <= 0 || slices.ContainsFunc(u.Sources, past) {
		return
	}
	least := time.Duration(h.ConsecutiveSamples) * u.SampleInterval.Duration
	u.ObservationPeriod.Duration = min(u.ObservationPeriod.Duration, max(o.WatchAtMost, least))
	if wanted := h.MinWindow.Duration; u.ObservationPeriod.Duration < wanted {
		o.shortOf, h.MinWindow.Duration = wanted, u.ObservationPeriod.Duration
	}
}
