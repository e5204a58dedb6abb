package throughput

import (
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cpuMetric is what every process that tells its metrics names the processor time that it has taken, in seconds.
const cpuMetric = "process_cpu_seconds_total"

// CPU is the processor time that a process has taken, by its metrics; 0 where they do not tell.
func CPU(text string) time.Duration {
	for line := range strings.Lines(text) {
		value, found := strings.CutPrefix(line, cpuMetric+" ")
		if !found {
			continue
		}
		if seconds, err := strconv.ParseFloat(strings.TrimSpace(value), 64); err == nil {
			return time.Duration(seconds * float64(time.Second))
		}
	}
	return 0
}

// ownCPU is the processor time that this process has taken; 0 where the system does not tell.
func ownCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// Sum adds up the samples of a metric, in the text that Prometheus reads, whose labels contain the given one.
func Sum(text, metric, label string) float64 {
	total := 0.0
	for line := range strings.Lines(text) {
		rest, found := strings.CutPrefix(line, metric+"{")
		if !found {
			continue
		}
		labels, value, found := strings.Cut(rest, "} ")
		if !found || !strings.Contains(labels, label) {
			continue
		}
		fields := strings.Fields(value)
		if len(fields) == 0 {
			continue
		}
		if number, err := strconv.ParseFloat(fields[0], 64); err == nil {
			total += number
		}
	}
	return total
}
