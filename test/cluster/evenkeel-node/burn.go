package main

import (
	"flag"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// burn uses a share of a CPU and some memory until SIGTERM. Without flags it only waits,
// like the container that holds a pod's namespaces.
func burn(args []string) error {
	flags := flag.NewFlagSet("burn", flag.ContinueOnError)
	var l load
	flags.IntVar(&l.milli, "cpu", 0, "milli-cores to use")
	flags.IntVar(&l.spike, "spike", 0, "milli-cores to use in addition during a spike")
	flags.DurationVar(&l.after, "spike-after", 0, "when the spike begins, after the start")
	flags.DurationVar(&l.lasts, "spike-lasts", 0, "how long it lasts")
	mebi := flags.Int("memory", 0, "MiB to keep resident")
	linger := flags.Duration("linger", 0, "how long to continue after SIGTERM")
	if err := flags.Parse(args); err != nil {
		return err
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	ballast := make([]byte, *mebi<<20)
	for i := 0; i < len(ballast); i += os.Getpagesize() {
		ballast[i] = 1
	}
	go l.spin()
	<-signals
	<-time.After(*linger)
	runtime.KeepAlive(ballast)
	return nil
}

// load is the CPU to use, in milli-cores, with a spike.
type load struct {
	milli, spike int
	after, lasts time.Duration
}

// at returns the CPU to use at an age of the process.
func (l load) at(age time.Duration) int {
	if age >= l.after && age < l.after+l.lasts {
		return l.milli + l.spike
	}
	return l.milli
}

// spin uses CPU in each tenth of a second until the process has had its share. If the
// process had to wait for CPU, it catches up within the same period.
func (l load) spin() {
	const period = 100 * time.Millisecond
	begin := time.Now()
	for next := begin; ; {
		share := time.Duration(l.at(time.Since(begin))) * period / 1000
		for start := used(); used()-start < share; {
		}
		next = next.Add(period)
		if wait := time.Until(next); wait > 0 {
			<-time.After(wait)
		} else {
			next = time.Now()
		}
	}
}

// used returns the CPU time that the process has had.
func used() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // cannot fail for the process itself
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
