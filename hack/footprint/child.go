package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/hack/measure"
)

// child is a measured or serving process.
type child struct {
	command *exec.Cmd
	lines   chan string
	log     *os.File
	// ended is closed when the process has closed its output.
	ended  chan struct{}
	began  time.Time
	phases []phase
}

// phase is a step of a process's start, with what the process had needed by its end.
type phase struct {
	name      string
	took, cpu time.Duration
	peak      int64
}

// reached records that a phase has ended.
func (c *child) reached(name string) error {
	took := time.Since(c.began)
	cpu, err := c.cpu()
	if err != nil {
		return err
	}
	m, err := c.memory()
	c.phases = append(c.phases, phase{name, took, cpu, m.peak})
	return err
}

// start runs a program with the garbage collector's defaults, or with a memory
// limit like GOMEMLIMIT; its log goes to a file.
func start(ctx context.Context, limit, logPath, program string, args ...string) (*child, error) {
	log, err := os.Create(logPath)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	command := exec.CommandContext(ctx, program, args...)
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 10 * time.Second
	command.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "GOGC=") || strings.HasPrefix(v, "GOMEMLIMIT=") || strings.HasPrefix(v, "GODEBUG=")
	})
	if limit != "" {
		command.Env = append(command.Env, "GOMEMLIMIT="+limit)
	}
	command.Stderr = log
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	c := &child{command: command, lines: make(chan string, 16), log: log, ended: make(chan struct{}), began: time.Now()}
	go func() {
		defer close(c.ended)
		defer close(c.lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			select {
			case c.lines <- scanner.Text():
			default: // nobody is reading
			}
		}
	}()
	return c, nil
}

// line returns the next line that the process writes.
func (c *child) line(ctx context.Context) (string, error) {
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case line, ok := <-c.lines:
		if !ok {
			return "", c.gone()
		}
		return line, nil
	}
}

func (c *child) gone() error { return errors.New("the process has ended; see " + c.log.Name()) }

// wait polls a condition until it holds.
func (c *child) wait(ctx context.Context, done func() bool) error {
	ticker := time.NewTicker(2 * time.Second)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.ended:
			return c.gone()
		case <-ticker.C:
		}
	}
	return nil
}

// stop asks the process to end, waits, and kills it after a timeout.
func (c *child) stop() {
	_ = c.command.Process.Signal(os.Interrupt) // an error means that it ended already
	patience := time.AfterFunc(10*time.Second, func() { _ = c.command.Process.Kill() })
	defer patience.Stop()
	for range c.lines {
		// wait until it has closed its output
	}
	_ = c.command.Wait() // how it ended does not matter
	c.log.Close()
}

// memory is the memory of a process, in bytes.
type memory struct{ resident, peak int64 }

// memory reads the process's memory from the kernel.
func (c *child) memory() (memory, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.command.Process.Pid))
	if err != nil {
		return memory{}, fmt.Errorf("reading the memory of a process: %w", err)
	}
	var m memory
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch name {
		case "VmRSS":
			m.resident = kib << 10
		case "VmHWM":
			m.peak = kib << 10
		}
	}
	if m.resident == 0 || m.peak == 0 {
		return memory{}, errors.New("reading the memory of a process: no VmRSS or VmHWM; has it ended?")
	}
	return m, nil
}

// cpu returns the CPU time that the process has used.
func (c *child) cpu() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.command.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("reading the CPU time of a process: %w", err)
	}
	const user, system, ticksPerSecond = 11, 12, 100 // fields after the name, which ends with the last parenthesis
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= system {
		return 0, errors.New("reading the CPU time of a process: /proc/PID/stat is too short")
	}
	var ticks int64
	for _, field := range fields[user : system+1] {
		n, _ := strconv.ParseInt(field, 10, 64)
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

// settle lets a process continue for the given time, and returns the median of its memory
// over the second half of that time.
func (c *child) settle(ctx context.Context, length time.Duration) (memory, error) {
	ticker, end := time.NewTicker(time.Second), time.NewTimer(length)
	defer ticker.Stop()
	defer end.Stop()
	half := time.Now().Add(length / 2)
	var seen []int64
	for {
		select {
		case <-ctx.Done():
			return memory{}, ctx.Err()
		case at := <-ticker.C:
			m, err := c.memory()
			if err != nil {
				return m, err
			}
			if at.After(half) {
				seen = append(seen, m.resident)
			}
		case <-end.C:
			m, err := c.memory()
			seen = append(seen, m.resident)
			m.resident = measure.Median(seen)
			return m, err
		}
	}
}
