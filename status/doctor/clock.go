package doctor

import (
	"fmt"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/internal/servertime"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
)

// skew is the smallest clock difference that is reported.
const skew = 5 * time.Second

// examineClock checks this machine's clock and the age of the nodes' newest
// samples.
func examineClock(p *Installation, n *notes) {
	p.Clock.examine(n)
	if p.Readings == nil {
		return
	}
	for i := range p.Readings.Sources {
		reading := &p.Readings.Sources[i]
		if ages := agesOf(&reading.Batch); reading.Err == nil && len(ages) > 0 {
			p.examineAges(n, i, ages)
		}
	}
}

// ownClock is the subject of findings about this machine's clock.
const ownClock = "this machine"

// fixClock explains how to set a clock. A pod uses the clock of its node.
const fixClock = "Let NTP set the clock of this machine, or of the node if this is a pod:\n  timedatectl set-ntp true     (or start chronyd)\n  timedatectl timesync-status  (or chronyc tracking)"

func (c *Clock) examine(n *notes) {
	direction := "behind"
	if c.Skew < 0 {
		direction = "ahead of"
	}
	switch {
	case !c.Known:
	case c.Skew.Abs() <= servertime.Tolerance:
		n.ok(ownClock, "Its clock and the API server's differ by at most about %v.", servertime.Tolerance)
	default:
		n.warning(ownClock, "Its clock is %s %s the API server's. Evenkeel uses the API server's time; its logs, and "+
			"other programs on this machine, do not.", seconds(c.Skew.Abs()), direction).fix(fixClock)
	}
}

// agesOf returns the ages of the nodes' newest readings when the batch arrived,
// youngest first.
func agesOf(batch *usage.Batch) []time.Duration {
	var ages []time.Duration
	for i := range batch.Nodes {
		readings := batch.Nodes[i].Readings
		if len(readings) == 0 {
			continue
		}
		newest := slices.MaxFunc(readings, func(a, b usage.Reading) int { return a.At.Compare(b.At) })
		ages = append(ages, batch.Received.Sub(newest.At))
	}
	slices.Sort(ages)
	return ages
}

func (p *Installation) examineAges(n *notes, i int, ages []time.Duration) {
	maxAge := p.maxAge(i)
	youngest, median, oldest := ages[0], ages[len(ages)/2], ages[len(ages)-1]
	summary := fmt.Sprintf("The newest samples of %s are %s to %s old, half of them up to %s; maxAge is %s.",
		reasons.Count(len(ages), "node"), seconds(youngest), seconds(oldest), seconds(median), maxAge)
	switch name := p.sourceName(i); {
	case youngest < -skew:
		n.warning(name, "The newest sample was taken %s from now: a clock or a time zone is wrong. %s", seconds(-youngest), summary).
			fix(fixRefused(&p.Sources[i], usage.Future))
	case median > maxAge/2:
		n.warning(name, "%s A single missed sample makes nodes unknown.", summary).fix(fixAge(&p.Sources[i]))
	default:
		n.ok(name, "%s", summary)
	}
}

// maxAge is the maximum age of a source's sample.
func (p *Installation) maxAge(i int) time.Duration {
	if given := p.Readings.Sources[i].Batch.MaxAge; given > 0 {
		return given
	}
	return p.Load.Usage.MaxAge.Duration
}

func seconds(d time.Duration) string { return d.Round(time.Second).String() }

func fixAge(s *policy.Source) string {
	why := "Let the source measure more often"
	if how := advice(s, source.Old, ""); how != "" {
		why += " (" + how + ")"
	}
	return why + ", or allow for older samples:\n" + outer(s.Type, "maxAge: 3m")
}
