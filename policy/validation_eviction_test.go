package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Values beyond a bound are in testdata/invalid. The values here are exactly at a bound.
func TestValidateAcceptsBounds(t *testing.T) {
	long := func(n int) []Period {
		list := make([]Period, n)
		for i := range list {
			list[i] = Period{Schedule: "@daily", Duration: duration(time.Hour)}
		}
		return list
	}
	cases := map[string]func(*Eviction, *Scoring){
		"everything at its minimum": func(e *Eviction, s *Scoring) {
			e.MaxMovesPerHour, e.MaxMovesPerHourOfOwner = intstr.FromInt32(0), intstr.FromInt32(0)
			e.MinGainPercent = 0
			e.MinHotTimeSaved = duration(0)
			e.ForecastPeriod = duration(5 * time.Minute)
			e.NodeSettle = duration(0)
			e.Cooldown = Cooldown{}
			e.OutcomeAfter = duration(30 * time.Second)
			e.Windows = []Period{{Schedule: "@yearly", Duration: duration(time.Minute)}}
			e.Breaker = Breaker{
				PendingAfter: duration(10 * time.Second), UnreadyAfter: duration(10 * time.Second),
				MaxErrors: 1, Rest: duration(10 * time.Second),
			}
			s.HotValue = []HotValue{{duration(10 * time.Second), 1}}
		},
		"everything at its maximum": func(e *Eviction, s *Scoring) {
			e.MaxMovesPerHour, e.MaxMovesPerHourOfOwner = intstr.FromInt32(2000), intstr.FromInt32(2000)
			e.MaxMovesPerHourOfNamespace, e.MaxMovesPerHourOfNodePool = 2000, 2000
			e.MinGainPercent = 50
			e.MinHotTimeSaved = duration(time.Hour)
			e.ForecastPeriod = duration(168 * time.Hour)
			e.NodeSettle = duration(time.Hour)
			e.Cooldown = Cooldown{Base: duration(24 * time.Hour), Max: duration(24 * time.Hour)}
			e.OutcomeAfter = duration(time.Hour)
			e.Windows, e.Blackouts = long(50), long(50)
			e.Blackouts[0].Duration = duration(7 * 24 * time.Hour)
			e.Breaker = Breaker{
				MaxPendingReplacements: 500, PendingAfter: duration(time.Hour),
				MaxUnreadyReplacements: 500, UnreadyAfter: duration(time.Hour),
				MaxRefusedPercent: 100, MaxErrors: 100, Rest: duration(24 * time.Hour), MaxNotReadyPercent: 100,
			}
			for i := range 10 {
				s.HotValue = append(s.HotValue, HotValue{duration(time.Hour - time.Duration(i)*time.Second), 1000})
			}
		},
		"the lowest percentage": func(e *Eviction, _ *Scoring) {
			e.MaxMovesPerHour, e.MaxMovesPerHourOfOwner = intstr.FromString("1%"), intstr.FromString("1%")
		},
		"the highest percentage": func(e *Eviction, _ *Scoring) {
			e.MaxMovesPerHour, e.MaxMovesPerHourOfOwner = intstr.FromString("100%"), intstr.FromString("100%")
		},
		"a leap day": func(e *Eviction, _ *Scoring) {
			e.Blackouts = []Period{{Schedule: "0 0 29 2 *", Duration: duration(24 * time.Hour)}}
		},
		"names of months and days": func(e *Eviction, _ *Scoring) {
			e.Blackouts = []Period{{Schedule: "0/15 8-18/2 ? DEC mon-fri", Duration: duration(time.Minute), TimeZone: "UTC"}}
		},
		"a schedule of 200 bytes": func(e *Eviction, _ *Scoring) {
			e.Blackouts = []Period{{Schedule: "0 22 * * 1" + strings.Repeat(",1", 95), Duration: duration(time.Hour)}}
		},
	}
	for name, set := range cases {
		t.Run(name, func(t *testing.T) {
			p := Default(known)
			set(&p.Eviction, &p.Scoring)
			if errs := Validate(&p, known); len(errs) > 0 {
				t.Errorf("Validate = %v", errs)
			}
			if _, err := p.Eviction.Calendar(); err != nil {
				t.Errorf("Calendar: %v", err)
			}
		})
	}
}

// Calendar rejects every schedule that Validate rejects, and neither panics.
func TestInvalidSchedules(t *testing.T) {
	cases := map[string]string{
		"empty":                    "",
		"blank":                    " ",
		"only a zone":              "TZ=",
		"a zone after a space":     " CRON_TZ=UTC @daily",
		"an empty field":           "0 22 , * *",
		"commas only":              ",, , ,,, , ,",
		"no such descriptor":       "@reboot",
		"a step of zero":           "*/0 * * * *",
		"a step that overflows":    "0/99999999999999999999 * * * *",
		"turned around":            "0 22-6 * * *",
		"minus":                    "-5 * * * *",
		"Sunday as 7":              "0 0 * * 7",
		"day zero":                 "0 0 0 * *",
		"every":                    "@every 1s",
		"no such date":             "0 0 31 2 *",
		"longer than allowed":      strings.Repeat("0,", 1<<19) + "0 * * * *",
		"zero bytes":               "0\x00 22 * * *",
		"digits in another script": "٠ ٢٢ * * *",
	}
	for name, schedule := range cases {
		t.Run(name, func(t *testing.T) {
			p := Default(known)
			p.Eviction.Blackouts = []Period{{Schedule: schedule, Duration: duration(time.Hour)}}
			errs := Validate(&p, known)
			if len(errs) != 1 || errs[0].Field != "eviction.blackouts[0].schedule" {
				t.Errorf("Validate = %v, want one error about the schedule", errs)
			}
			if text := errs.ToAggregate().Error(); len(text) > 1000 {
				t.Errorf("an error of %d bytes", len(text))
			}
			if _, err := p.Eviction.Calendar(); err == nil || !strings.Contains(err.Error(), "eviction.blackouts[0]") {
				t.Errorf("Calendar: error %v, want one that names the period", err)
			}
		})
	}
}

func TestCalendarRefusesWhatValidateDoes(t *testing.T) {
	cases := map[string]struct {
		period Period
		want   string
	}{
		"an unknown zone": {
			period: Period{Schedule: "@daily", Duration: duration(time.Hour), TimeZone: "Europe/Atlantis"},
			want:   `reading eviction.windows[0]: time zone "Europe/Atlantis" is not known`,
		},
		"the machine's local zone": {
			period: Period{Schedule: "@daily", Duration: duration(time.Hour), TimeZone: "Local"},
			want:   `reading eviction.windows[0]: time zone "Local" is not known`,
		},
		"no duration": {
			period: Period{Schedule: "@daily"},
			want:   "reading eviction.windows[0]: the duration must be from 1m0s to 168h0m0s",
		},
		"the longest possible duration": {
			period: Period{Schedule: "@daily", Duration: duration(1<<63 - 1)},
			want:   "reading eviction.windows[0]: the duration must be from 1m0s to 168h0m0s",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := (&Eviction{Windows: []Period{tc.period}}).Calendar()
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}
