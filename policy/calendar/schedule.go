package calendar

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// MaxScheduleBytes bounds a cron expression, because messages repeat it.
const MaxScheduleBytes = 200

// ParseSchedule parses a cron expression as wall times, without a zone. It rejects zones
// before it calls the cron parser, because the parser panics on some of them.
func ParseSchedule(text string) (*cron.SpecSchedule, error) {
	switch {
	case len(text) > MaxScheduleBytes:
		return nil, fmt.Errorf("must have at most %d bytes", MaxScheduleBytes)
	case strings.Contains(text, "TZ="):
		return nil, errors.New("must not name a zone; set timeZone instead")
	case strings.HasPrefix(text, "@every"):
		return nil, errors.New("must have fixed times, which @every does not have")
	}
	parsed, err := cron.ParseStandard(text)
	if err != nil {
		return nil, fmt.Errorf("must be a cron expression of five fields: %w", err)
	}
	spec, fixed := parsed.(*cron.SpecSchedule)
	if !fixed {
		return nil, errors.New("must have fixed times")
	}
	spec.Location = time.UTC
	if spec.Minute == 0 || spec.Hour == 0 || spec.Dom == 0 || spec.Month == 0 || spec.Dow == 0 {
		return nil, errors.New("must not have a field that matches nothing")
	}
	// Next looks five years ahead, and the fourth of them has a 29 February.
	if spec.Next(time.Date(2001, time.January, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, errors.New("must occur at some time; there is no such date")
	}
	return spec, nil
}
