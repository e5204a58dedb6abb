package calendar

import "time"

// A wall time is the time that a clock shows somewhere. It is represented by a time.Time
// in UTC whose fields count, not the instant. Schedules use wall times because each day
// then has 24 hours and each hour occurs once.

// zoneReach is larger than the offset of any zone from UTC.
const zoneReach = 16 * time.Hour

// wallDayOf returns the day that the clocks of a zone show at t.
func wallDayOf(t time.Time, zone *time.Location) time.Time {
	year, month, date := t.In(zone).Date()
	return time.Date(year, month, date, 0, 0, 0, 0, time.UTC)
}

// steadyOffset returns a zone's offset from UTC throughout a day if its clocks do not change near that day.
func steadyOffset(wallDay time.Time, zone *time.Location) (offset time.Duration, steady bool) {
	before := wallDay.Add(-zoneReach).In(zone)
	_, end := before.ZoneBounds()
	return offsetOf(before), end.IsZero() || end.After(wallDay.Add(day+zoneReach))
}

// instantsOf returns when the clocks of a zone show a wall time: twice if they are set back over it, and the moment of
// the change if they are set forward over it.
func instantsOf(wall time.Time, zone *time.Location) []time.Time {
	before := offsetOf(wall.Add(-zoneReach).In(zone))
	after := offsetOf(wall.Add(zoneReach).In(zone))
	first, second := wall.Add(-before), wall.Add(-after)
	isFirst, isSecond := offsetOf(first.In(zone)) == before, offsetOf(second.In(zone)) == after
	switch {
	case before == after:
		return []time.Time{first}
	case isFirst && isSecond:
		return []time.Time{first, second}
	case isFirst:
		return []time.Time{first}
	case isSecond:
		return []time.Time{second}
	}
	jump, _ := first.In(zone).ZoneBounds()
	return []time.Time{jump.UTC()}
}

func offsetOf(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}

const day = 24 * time.Hour
