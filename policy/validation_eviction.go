package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/evenkeel/evenkeel/policy/calendar"
	"github.com/evenkeel/evenkeel/policy/check"
)

const (
	// maxPeriods limits the number of windows and of blackouts.
	maxPeriods = 50
	// maxMovesAnHour limits the hourly budgets, because the ledger does not remember more moves.
	maxMovesAnHour = 2000
	day            = 24 * time.Hour
)

func validateEviction(e *Eviction, path *field.Path) field.ErrorList {
	return slices.Concat(
		validateList(e.DryRunPlugins, path.Child("dryRunPlugins"), validatePluginName),
		check.OneOf(path.Child("steering"), e.Steering, SteeringAuto, SteeringRequired, SteeringAdmission, SteeringNone),
		validatePace(e, path),
		check.Between(path.Child("maxMovesPerCycle"), e.MaxMovesPerCycle, 1, 500),
		check.NumberOrPercent(path.Child("maxMovesPerHour"), e.MaxMovesPerHour, maxMovesAnHour),
		check.Between(path.Child("maxMovesPerHourOfNamespace"), e.MaxMovesPerHourOfNamespace, 0, maxMovesAnHour),
		check.NumberOrPercent(path.Child("maxMovesPerHourOfOwner"), e.MaxMovesPerHourOfOwner, maxMovesAnHour),
		check.Between(path.Child("maxMovesPerHourOfNodePool"), e.MaxMovesPerHourOfNodePool, 0, maxMovesAnHour),
		check.Between(path.Child("minGainPercent"), e.MinGainPercent, 0, 50),
		check.Duration(path.Child("minHotTimeSaved"), e.MinHotTimeSaved, 0, time.Hour),
		check.OneOf(path.Child("forecast"), e.Forecast, ForecastRecurring, ForecastLasting, ForecastNone),
		validatePeriod(e.ForecastPeriod, path.Child("forecastPeriod")),
		check.Duration(path.Child("nodeSettle"), e.NodeSettle, 0, time.Hour),
		validateCooldown(&e.Cooldown, path.Child("cooldown")),
		check.Duration(path.Child("outcomeAfter"), e.OutcomeAfter, 30*time.Second, time.Hour),
		validateTimes(e.Windows, path.Child("windows")),
		validateTimes(e.Blackouts, path.Child("blackouts")),
		validateBreaker(&e.Breaker, path.Child("breaker")),
		check.Percent(path.Child("maxInFlightPercentOfOwner"), e.MaxInFlightPercentOfOwner),
		check.Duration(path.Child("moveTTL"), e.MoveTTL, 10*time.Second, time.Hour),
		check.Duration(path.Child("sourceAvoidance"), e.SourceAvoidance, 0, day),
		check.Duration(path.Child("ownerSettle"), e.OwnerSettle, 0, day),
		check.Names(path.Child("schedulerNames"), e.SchedulerNames),
		validateList(e.LeavingTaints, path.Child("leavingTaints"), validateTaint),
		validateList(e.ClosingTaints, path.Child("closingTaints"), validateTaint),
		validateList(e.RecreatingControllers, path.Child("recreatingControllers"), validateController),
	)
}

func validatePeriod(period metav1.Duration, path *field.Path) field.ErrorList {
	if period.Duration%time.Second != 0 {
		return field.ErrorList{field.Invalid(path, period.Duration.String(), "must be whole seconds")}
	}
	return check.Duration(path, period, 5*time.Minute, 7*day)
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

func validateCooldown(c *Cooldown, path *field.Path) field.ErrorList {
	errs := check.Duration(path.Child("always"), c.Always, 0, day)
	errs = append(errs, check.Duration(path.Child("base"), c.Base, 0, day)...)
	errs = append(errs, check.Duration(path.Child("max"), c.Max, 0, day)...)
	if len(errs) == 0 && c.Max.Duration < c.Base.Duration {
		errs = append(errs, field.Invalid(path.Child("max"), c.Max.Duration.String(),
			fmt.Sprintf("must be at least base (%s)", c.Base.Duration)))
	}
	return errs
}

// validateTimes checks a list of recurring times. It may be empty.
func validateTimes(list []Period, path *field.Path) field.ErrorList {
	if len(list) > maxPeriods {
		return field.ErrorList{field.TooMany(path, len(list), maxPeriods)}
	}
	var errs field.ErrorList
	for i := range list {
		p, at := &list[i], path.Index(i)
		errs = append(errs, validateSchedule(p.Schedule, at.Child("schedule"))...)
		if p.Duration.Duration == 0 {
			errs = append(errs, field.Required(at.Child("duration"), "how long it lasts each time, from 1m to 168h"))
		} else {
			errs = append(errs, check.Duration(at.Child("duration"), p.Duration, calendar.MinDuration, calendar.MaxDuration)...)
		}
		if p.TimeZone != "" {
			errs = append(errs, check.Zone(at.Child("timeZone"), p.TimeZone)...)
		}
	}
	return errs
}

// Calendar parses the windows and blackouts, which takes longer than using
// them.
func (e *Eviction) Calendar() (*calendar.Calendar, error) {
	return calendar.New(e.Windows, e.Blackouts)
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
	return slices.Concat(
		check.Between(path.Child("maxPendingReplacements"), b.MaxPendingReplacements, 0, 500),
		check.Duration(path.Child("pendingAfter"), b.PendingAfter, 10*time.Second, time.Hour),
		check.Between(path.Child("maxUnreadyReplacements"), b.MaxUnreadyReplacements, 0, 500),
		check.Duration(path.Child("unreadyAfter"), b.UnreadyAfter, 10*time.Second, time.Hour),
		check.Percent(path.Child("maxRefusedPercent"), b.MaxRefusedPercent),
		check.Between(path.Child("maxErrors"), b.MaxErrors, 1, 100),
		check.Duration(path.Child("rest"), b.Rest, 10*time.Second, day),
		check.Percent(path.Child("maxNotReadyPercent"), b.MaxNotReadyPercent),
		check.Percent(path.Child("maxDrainingPercent"), b.MaxDrainingPercent),
		check.Percent(path.Child("maxUnschedulablePercent"), b.MaxUnschedulablePercent),
		check.Duration(path.Child("standBack"), b.StandBack, 0, day),
	)
}

// validatePluginName checks the name of a plugin. Whether a profile enables the plugin is
// checked with the profiles.
func validatePluginName(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "a name must not be empty")}
	}
	return nil
}

// maxListed limits the lists of plugins, of taints and of controllers.
const maxListed = 50

// validateList checks a list that may be empty but has no duplicates.
func validateList(list []string, path *field.Path, entry func(string, *field.Path) field.ErrorList) field.ErrorList {
	if len(list) > maxListed {
		return field.ErrorList{field.TooMany(path, len(list), maxListed)}
	}
	var errs field.ErrorList
	for i, text := range list {
		errs = append(errs, entry(text, path.Index(i))...)
		if slices.Contains(list[:i], text) {
			errs = append(errs, field.Duplicate(path.Index(i), text))
		}
	}
	return errs
}

// validateTaint checks the key of a taint, or a prefix of keys followed by a *.
func validateTaint(text string, path *field.Path) field.ErrorList {
	return check.Valid(path, text, func(pattern string) []string {
		if prefix, open := strings.CutSuffix(pattern, "*"); open && prefix != "" {
			pattern = prefix + "x"
		}
		return validation.IsQualifiedName(pattern)
	})
}

var (
	kindForm    = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	versionForm = regexp.MustCompile(`^v[0-9]+((alpha|beta)[0-9]+)?$`)
)

// validateController checks a kind with its group. Kubernetes' parser would also accept a resource, or a kind with a
// version, but those would never match an owner.
func validateController(text string, path *field.Path) field.ErrorList {
	kind := schema.ParseGroupKind(text)
	invalid := func(message string) field.ErrorList { return field.ErrorList{field.Invalid(path, text, message)} }
	first, rest, _ := strings.Cut(kind.Group, ".")
	switch {
	case versionForm.MatchString(first) && rest != "":
		return invalid(fmt.Sprintf("must be Kind.group without a version: %s.%s", kind.Kind, rest))
	case kind.Kind == "" || len(validation.IsDNS1123Subdomain(kind.Group)) > 0 || versionForm.MatchString(kind.Group):
		return invalid("must be Kind.group, such as CloneSet.apps.kruise.io")
	case !kindForm.MatchString(kind.Kind):
		return invalid("must be Kind.group, such as CloneSet.apps.kruise.io: the kind as in manifests, capitalized and singular, not the resource")
	case kind == schema.GroupKind{Group: "batch", Kind: "Job"}:
		return invalid("pods of Jobs are moved only with evictJobs")
	}
	return nil
}
