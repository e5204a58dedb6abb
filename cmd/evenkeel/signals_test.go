package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// asProgram is the environment variable that makes the test binary run as evenkeel.
const asProgram = "EVENKEEL_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		os.Exit(run())
	}
	os.Exit(m.Run())
}

// started is a running evenkeel process.
type started struct {
	*exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
	ended  chan error
}

// start runs evenkeel with pipes as its standard input and output.
func start(t *testing.T, args ...string) *started {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &started{Cmd: exec.CommandContext(t.Context(), program, args...), ended: make(chan error, 1)}
	p.Env = append(os.Environ(), asProgram+"=1", "KUBECONFIG=/dev/null")
	if p.stdin, err = p.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.stdout, p.Stdout = out, stdout
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	_ = stdout.Close()
	go func() { p.ended <- p.Wait() }()
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = out.Close()
	})
	return p
}

// startReading runs evenkeel with an endless file as its last argument, and returns once evenkeel
// is reading that file.
func startReading(t *testing.T, args ...string) *started {
	t.Helper()
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, append(args, fifo)...)
	for {
		endless, err := os.OpenFile(fifo, os.O_WRONLY|syscall.O_NONBLOCK, 0) // fails until evenkeel reads
		if err == nil {
			t.Cleanup(func() { _ = endless.Close() })
			return p
		}
		select {
		case err := <-p.ended:
			t.Fatalf("it ended before it read: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (p *started) terminate(t *testing.T) {
	t.Helper()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}

// code waits until the program ends and returns its exit code, or -1 if a signal killed it.
func (p *started) code(t *testing.T) int {
	t.Helper()
	select {
	case err := <-p.ended:
		if failed, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
			t.Fatal(err)
		} else if ok {
			return failed.ExitCode()
		}
		return 0
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
		return 0
	}
}

// A signal ends every command that reads an endless pipe.
func TestSignalsEndReading(t *testing.T) {
	// This is more than a pipe holds, so writing returns only once evenkeel is reading.
	comments := []byte("#" + strings.Repeat(" endless", 1<<14) + "\n")
	for name, args := range map[string][]string{
		"convert": {"convert", "-f", "-"},
		"lint":    {"lint", "-"},
	} {
		for s, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
			t.Run(name+" by "+s.String(), func(t *testing.T) {
				p := start(t, args...)
				if _, err := p.stdin.Write(comments); err != nil {
					t.Fatal(err)
				}
				if err := p.Process.Signal(s); err != nil {
					t.Fatal(err)
				}
				if got := p.code(t); got != want {
					t.Errorf("exit code %d, want %d", got, want)
				}
			})
		}
	}
	for name, args := range map[string][]string{
		"plan reading a policy":                    {"plan", "--policy-config-file"},
		"doctor reading a policy":                  {"doctor", "--policy-config-file"},
		"run reading a policy":                     {"run", "--policy-config-file"},
		"extender reading a policy":                {"extender", "--listen-address", "127.0.0.1:0", "--policy-config-file"},
		"doctor reading a scheduler configuration": {"doctor", "--scheduler-config"},
		"lint reading a file":                      {"lint"},
		"nodesync reading rules":                   {"nodesync", "--rules"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startReading(t, args...)
			p.terminate(t)
			if slices.Contains(lasting, args[0]) { // these would finish something first
				time.Sleep(50 * time.Millisecond) // signals of the same kind are merged
				p.terminate(t)
			}
			if got, want := p.code(t), 143; got != want {
				t.Errorf("exit code %d, want %d", got, want)
			}
		})
	}
}

// A signal also ends a command whose output nobody reads.
func TestSignalsEndWriting(t *testing.T) {
	file := filepath.Join(t.TempDir(), "long.yaml")
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" + strings.Repeat("# long\n", 1<<15)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, "convert", "-f", file)
	if _, err := p.stdout.Read(make([]byte, 1)); err != nil { // evenkeel has started to write
		t.Fatal(err)
	}
	p.terminate(t)
	if got := p.code(t); got != 143 {
		t.Errorf("exit code %d, want 143", got)
	}
}
