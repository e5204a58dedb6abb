package policy

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy/calendar"
	"github.com/evenkeel/evenkeel/policy/check"
)

const (
	// maxPeriods bounds the windows and the blackouts.
	maxPeriods = 50
	// maxMovesAnHour bounds the hourly budgets: more than the ledger remembers
	// could not be counted.
	maxMovesAnHour = 2000
	day            = 24 * time.Hour
)

func validateEviction(e *Eviction, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, check.OneOf(path.Child("steering"), e.Steering, SteeringRequired, SteeringNone)...)
	errs = append(errs, validatePace(e, path)...)
	errs = append(errs, validateBudgets(e, path)...)
	errs = append(errs, check.Between(path.Child("minGainPercent"), e.MinGainPercent, 0, 50)...)
	errs = append(errs, check.Duration(path.Child("nodeSettle"), e.NodeSettle, 0, time.Hour)...)
	errs = append(errs, validateCooldown(&e.Cooldown, path.Child("cooldown"))...)
	errs = append(errs, check.Duration(path.Child("outcomeAfter"), e.OutcomeAfter, 30*time.Second, time.Hour)...)
	errs = append(errs, validateTimes(e.Windows, path.Child("windows"))...)
	errs = append(errs, validateTimes(e.Blackouts, path.Child("blackouts"))...)
	errs = append(errs, validateBreaker(&e.Breaker, path.Child("breaker"))...)
	errs = append(errs, check.Percent(path.Child("maxInFlightPercentOfOwner"), e.MaxInFlightPercentOfOwner)...)
	errs = append(errs, check.Duration(path.Child("moveTTL"), e.MoveTTL, 10*time.Second, time.Hour)...)
	errs = append(errs, check.Duration(path.Child("sourceAvoidance"), e.SourceAvoidance, 0, day)...)
	errs = append(errs, check.Duration(path.Child("ownerSettle"), e.OwnerSettle, 0, day)...)
	errs = append(errs, check.Names(path.Child("schedulerNames"), e.SchedulerNames)...)
	return errs
}

func validatePace(e *Eviction, path *field.Path) field.ErrorList {
	errs := check.Duration(path.Child("cycleDeadline"), e.CycleDeadline, 10*time.Second, day)
	errs = append(errs, check.Duration(path.Child("interval"), e.Interval, 0, 10*time.Minute)...)
	if e.Interval.Duration >= e.CycleDeadline.Duration {
		errs = append(errs, field.Invalid(path.Child("interval"), e.Interval.Duration.String(),
			fmt.Sprintf("must be shorter than cycleDeadline (%s)", e.CycleDeadline.Duration)))
	}
	return errs
}

func validateBudgets(e *Eviction, path *field.Path) field.ErrorList {
	errs := check.Between(path.Child("maxMovesPerCycle"), e.MaxMovesPerCycle, 1, 500)
	errs = append(errs, check.Between(path.Child("maxMovesPerHour"), e.MaxMovesPerHour, 0, maxMovesAnHour)...)
	errs = append(errs, check.Between(path.Child("maxMovesPerHourOfNamespace"), e.MaxMovesPerHourOfNamespace, 0, maxMovesAnHour)...)
	errs = append(errs, check.Between(path.Child("maxMovesPerHourOfOwner"), e.MaxMovesPerHourOfOwner, 0, maxMovesAnHour)...)
	return append(errs, check.Between(path.Child("maxMovesPerHourOfNodePool"), e.MaxMovesPerHourOfNodePool, 0, maxMovesAnHour)...)
}

func validateCooldown(c *Cooldown, path *field.Path) field.ErrorList {
	errs := check.Duration(path.Child("base"), c.Base, 0, day)
	errs = append(errs, check.Duration(path.Child("max"), c.Max, 0, day)...)
	if len(errs) == 0 && c.Max.Duration < c.Base.Duration {
		errs = append(errs, field.Invalid(path.Child("max"), c.Max.Duration.String(),
			fmt.Sprintf("must be at least base (%s)", c.Base.Duration)))
	}
	return errs
}

// validateTimes checks a list of recurring times, which may be empty.
func validateTimes(list []Period, path *field.Path) field.ErrorList {
	if len(list) > maxPeriods {
		return field.ErrorList{field.TooMany(path, len(list), maxPeriods)}
	}
	var errs field.ErrorList
	for i := range list {
		p, at := &list[i], path.Index(i)
		errs = append(errs, validateSchedule(p.Schedule, at.Child("schedule"))...)
		errs = append(errs, check.Duration(at.Child("duration"), p.Duration, calendar.MinDuration, calendar.MaxDuration)...)
		if p.TimeZone != "" {
			errs = append(errs, check.Zone(at.Child("timeZone"), p.TimeZone)...)
		}
	}
	return errs
}

// Calendar reads the windows and blackouts, which takes longer than asking
// them.
func (e *Eviction) Calendar() (*calendar.Calendar, error) {
	return calendar.New(periods(e.Windows), periods(e.Blackouts))
}

func periods(list []Period) []calendar.Period {
	read := make([]calendar.Period, len(list))
	for i, p := range list {
		read[i] = calendar.Period{Schedule: p.Schedule, Duration: p.Duration.Duration, TimeZone: p.TimeZone}
	}
	return read
}

func validateSchedule(text string, path *field.Path) field.ErrorList {
	switch {
	case text == "":
		return field.ErrorList{field.Required(path, `must be a cron expression of five fields, such as "0 22 * * 1-5"`)}
	case len(text) > calendar.MaxScheduleBytes:
		return field.ErrorList{field.TooLong(path, "", calendar.MaxScheduleBytes)}
	}
	if _, err := calendar.ParseSchedule(text); err != nil {
		return field.ErrorList{field.Invalid(path, text, err.Error())}
	}
	return nil
}

func validateBreaker(b *Breaker, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, check.Between(path.Child("maxPendingReplacements"), b.MaxPendingReplacements, 0, 500)...)
	errs = append(errs, check.Duration(path.Child("pendingAfter"), b.PendingAfter, 10*time.Second, time.Hour)...)
	errs = append(errs, check.Between(path.Child("maxUnreadyReplacements"), b.MaxUnreadyReplacements, 0, 500)...)
	errs = append(errs, check.Duration(path.Child("unreadyAfter"), b.UnreadyAfter, 10*time.Second, time.Hour)...)
	errs = append(errs, check.Percent(path.Child("maxRefusedPercent"), b.MaxRefusedPercent)...)
	errs = append(errs, check.Between(path.Child("maxErrors"), b.MaxErrors, 1, 100)...)
	errs = append(errs, check.Duration(path.Child("rest"), b.Rest, 10*time.Second, day)...)
	return append(errs, check.Percent(path.Child("maxNotReadyPercent"), b.MaxNotReadyPercent)...)
}
