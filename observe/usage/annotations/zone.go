package annotations

import (
	"slices"
	"time"
)

// skew is how far the clocks of writer and reader may differ.
const skew = time.Minute

// shanghai is the time zone of Crane's clock unless its $TZ sets another. It is fixed so
// that it works in an image without a time zone database. Shanghai has had no daylight
// saving time since 1991.
var shanghai = time.FixedZone("Asia/Shanghai", 8*60*60)

// zones detects the zone of the writer's clock.
//
// A stamp cannot be from the future, so a zone in which the newest stamp would be in the
// future is excluded. Of the other zones, the one in which the stamp is youngest is
// chosen if the stamp is then as young as an active writer keeps it. Otherwise the zone
// in which all stamps are oldest is chosen. A zone is proven if all others are excluded,
// or if a stamp that is new since the last call is as recent in that zone as it must be.
// A proven zone is kept until it is excluded or another one is proven.
//
// One case is ambiguous: to a reader that has just started, the stamps of a writer in
// Shanghai that stopped 8 hours ago look like those of an active writer in UTC. They seem
// fresh for another period and five minutes. Setting the timezone avoids this.
type zones struct {
	candidates []*time.Location
	// newest is the newest stamp at the last call, and at the time of that call.
	newest, at time.Time
	proven     *time.Location
}

// choose returns the zone that the newest stamp of a batch implies. activeAge is the
// maximum age of that stamp while its writer is active.
func (z *zones) choose(newest Value, now time.Time, activeAge time.Duration) *time.Location {
	isNew, elapsed := !z.at.IsZero() && newest.Wall.After(z.newest), now.Sub(z.at)
	z.newest, z.at = newest.Wall, now
	if isNew {
		if zone := z.youngest(newest, now, elapsed+skew); zone != nil {
			z.proven = zone
			return zone
		}
	}
	if z.proven != nil && now.Sub(newest.In(z.proven)) >= -skew {
		return z.proven
	}
	z.proven = nil
	zone := z.youngest(newest, now, activeAge)
	if zone == nil {
		return z.oldest(newest)
	}
	if z.onlyOne(newest, now) {
		z.proven = zone
	}
	return zone
}

// youngest returns the zone in which a stamp is youngest, provided that it is neither
// from the future nor older than limit; nil if there is none.
func (z *zones) youngest(stamp Value, now time.Time, limit time.Duration) *time.Location {
	var best *time.Location
	bestAge := limit
	for _, zone := range z.candidates {
		if age := now.Sub(stamp.In(zone)); age >= -skew && (age < bestAge || best == nil && age == bestAge) {
			best, bestAge = zone, age
		}
	}
	return best
}

// oldest returns the zone in which a stamp is oldest.
func (z *zones) oldest(stamp Value) *time.Location {
	return slices.MinFunc(z.candidates, func(a, b *time.Location) int { return stamp.In(a).Compare(stamp.In(b)) })
}

// onlyOne reports whether a stamp has the same time in all zones in which it is not from
// the future.
func (z *zones) onlyOne(stamp Value, now time.Time) bool {
	var times []time.Time
	for _, zone := range z.candidates {
		if at := stamp.In(zone); now.Sub(at) >= -skew {
			times = append(times, at)
		}
	}
	return len(times) > 0 && !slices.ContainsFunc(times, func(at time.Time) bool { return !at.Equal(times[0]) })
}

// possible reports whether there is a zone in which a stamp is not from the
// future.
func (z *zones) possible(stamp Value, now time.Time) bool {
	return now.Sub(stamp.In(z.oldest(stamp))) >= -skew
}
