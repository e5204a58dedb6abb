package source

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/observe/usage"
)

// OtherPeriod is the assumed renewal period of windows that are not listed.
const OtherPeriod = 15 * time.Minute

// Periods returns how often Crane's controller renews its windows.
func Periods() map[usage.Window]metav1.Duration {
	return map[usage.Window]metav1.Duration{
		usage.Avg5m: {Duration: 3 * time.Minute},
		{Kind: usage.KindMaxAvg, Over: time.Hour}:      {Duration: 15 * time.Minute},
		{Kind: usage.KindMaxAvg, Over: 24 * time.Hour}: {Duration: 3 * time.Hour},
	}
}
