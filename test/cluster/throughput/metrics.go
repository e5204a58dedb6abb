package throughput

import (
	"syscall"
	"time"

	"github.com/evenkeel/evenkeel/hack/measure"
)

// cpuMetric is what every process that tells its metrics names the processor
// time that it has taken, in seconds.
const cpuMetric = "process_cpu_seconds_total"

// CPU is the processor time that a process has taken, by its metrics; 0 where
// they do not tell.
func CPU(page string) time.Duration {
	seconds, _ := measure.Metric(page, cpuMetric, "")
	return time.Duration(seconds * float64(time.Second))
}

// ownCPU is the processor time that this process has taken; 0 where the system
// does not tell.
func ownCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
