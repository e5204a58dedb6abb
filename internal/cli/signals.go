package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/evenkeel/evenkeel/internal/exit"
)

// lastingPatience is how long a command with work to finish may continue after a signal.
// It is less than the 30 s that Kubernetes gives a pod.
const lastingPatience = 20 * time.Second

// stopSignals returns the signals that end a command.
func stopSignals() <-chan os.Signal {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	return signals
}

// untilSignalled runs a command and returns its exit code. A signal ends the command's
// context. A command that continues nevertheless, for example because it reads a pipe
// that never ends, is abandoned when a second signal arrives or when patience has passed.
func untilSignalled(signals <-chan os.Signal, patience time.Duration, command func(context.Context) error) int {
	ctx, cancel := context.WithCancel(context.Background()) //nolint:forbidigo // it is what package main runs
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- command(ctx) }()
	var over <-chan time.Time
	code := 0 // exit code of the first signal
	for {
		select {
		case err := <-done:
			return codeOf(err, code)
		case <-over:
			return code
		case s := <-signals:
			if code != 0 {
				return signalled(s)
			}
			code, over = signalled(s), time.After(patience)
			cancel()
		}
	}
}

// codeOf prints a command's error and returns its exit code. An interrupted command has
// the exit code of its signal.
func codeOf(err error, interrupted int) int {
	if errors.Is(err, context.Canceled) && interrupted != 0 {
		return interrupted
	}
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, exit.ErrDiffers) {
		fmt.Fprintln(os.Stderr, "evenkeel: "+err.Error())
	}
	return exit.Code(err)
}

// signalled returns the exit code of a process that was ended by a signal, as
// shells report it: 130 for SIGINT, 143 for SIGTERM.
func signalled(s os.Signal) int {
	const base = 128
	number, _ := s.(syscall.Signal)
	return base + int(number)
}
