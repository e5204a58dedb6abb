package status

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Sentence capitalizes the first letter and ends the words with a period.
func Sentence(words string) string {
	if words == "" {
		return ""
	}
	return strings.ToUpper(words[:1]) + strings.TrimSuffix(words[1:], ".") + "."
}

// Enumerated joins words with commas and a final "and".
func Enumerated(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

// because joins a reason with its detail, if there is one.
func because(reason, detail string) string {
	if detail == "" {
		return reason
	}
	return reason + ": " + detail
}

// since describes when a state began.
func since(at *time.Time, now time.Time) string {
	if at == nil {
		return ""
	}
	return " since " + clock(*at, now)
}

// clock formats a time, with its date unless that is today.
func clock(at, now time.Time) string {
	layout := "15:04 UTC"
	if now.UTC().Format(time.DateOnly) != at.Format(time.DateOnly) {
		layout = "2006-01-02 " + layout
	}
	return at.Format(layout)
}

// InMinutes formats a number of minutes as a duration.
func InMinutes(minutes float64) string {
	return duration.HumanDuration(time.Duration(minutes * float64(time.Minute)))
}
