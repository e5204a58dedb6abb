package throughput

import (
	"syscall"
	"time"

	"github.com/evenkeel/evenkeel/hack/measure"
)

// cpuMetric is the usual name of the metric of a process's processor time, in seconds.
const cpuMetric = "process_cpu_seconds_total"

// CPU returns a process's processor time from its metrics page; 0 if the page does not
// contain it.
func CPU(page string) time.Duration {
	seconds, _ := measure.Metric(page, cpuMetric, "")
	return time.Duration(seconds * float64(time.Second))
}

// ownCPU returns this process's processor time; 0 if the operating system does not report
// it.
func ownCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
