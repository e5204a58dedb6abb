package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// stopGrace is how long a part may take to end. The API server takes some seconds to
// drain its watches.
const stopGrace = 15 * time.Second

// drainGrace is how long the API server may take to end when the whole cluster is
// stopped.
const drainGrace = 5 * time.Second

// Process is a running program and its log file.
type Process struct {
	name    string
	logPath string
	command *exec.Cmd
	// done is closed when the process has ended; err is valid only after that.
	done chan struct{}
	err  error
}

// StartProcess runs a program that ends when this process does. name is used in errors.
// Output is appended to the log.
func StartProcess(name, path string, args []string, logPath string) (*Process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the log of %s: %w", name, err)
	}
	// The child process has its own descriptor.
	defer log.Close()
	p := &Process{name: name, logPath: logPath, command: exec.Command(path, args...), done: make(chan struct{})}
	p.command.Stdout, p.command.Stderr = log, log
	p.command.SysProcAttr = childAttributes()
	if err := p.command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		p.err = p.command.Wait()
		close(p.done)
	}()
	return p, nil
}

// Stop asks the process to end, waits for it, and kills it after stopGrace.
func (p *Process) Stop() error {
	if p.StopWithin(stopGrace) {
		return nil
	}
	return fmt.Errorf("stopping %s: killed, because it did not end within %s", p.name, stopGrace)
}

// StopWithin is like Stop, but with another grace period. It reports whether the process
// ended without being killed.
func (p *Process) StopWithin(grace time.Duration) bool {
	if p.Ended() {
		return true
	}
	// An error means that the process has just ended, which the wait below detects.
	_ = p.command.Process.Signal(syscall.SIGTERM)
	_ = p.command.Process.Signal(syscall.SIGCONT) // a paused process would not receive SIGTERM
	select {
	case <-p.done:
		return true
	case <-time.After(grace):
		p.Kill()
		return false
	}
}

// Pause suspends the process until Resume.
func (p *Process) Pause() error { return p.signal(syscall.SIGSTOP) }

// Resume continues a process that Pause stopped.
func (p *Process) Resume() error { return p.signal(syscall.SIGCONT) }

func (p *Process) signal(signal syscall.Signal) error {
	if err := p.command.Process.Signal(signal); err != nil {
		return fmt.Errorf("sending %s the signal %q: %w", p.name, signal, err)
	}
	return nil
}

// Kill ends the process immediately.
func (p *Process) Kill() {
	_ = p.command.Process.Kill()
	<-p.done
}

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// Failure returns an error for a process that ended unexpectedly, with the last lines of
// its log.
func (p *Process) Failure() error {
	const lastLines = 15
	ended := p.err
	if ended == nil {
		ended = errors.New("exit code 0")
	}
	content, err := os.ReadFile(p.logPath)
	if err != nil {
		return fmt.Errorf("%s ended: %w", p.name, ended)
	}
	lines := bytes.Split(bytes.TrimSpace(content), []byte{'\n'})
	lines = lines[max(0, len(lines)-lastLines):]
	return fmt.Errorf("%s ended (%w), its log %s ends with:\n%s", p.name, ended, p.logPath, bytes.Join(lines, []byte{'\n'}))
}
