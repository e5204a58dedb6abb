// Package exit maps the error that a command returned to the exit code of the
// process.
package exit

import (
	"context"
	"errors"
	"fmt"
)

// The exit codes of every command.
const (
	OK = 0
	// Failure: the command could not do its work.
	Failure = 1
	// Misuse: the command line or the policy is invalid, or the command could not
	// do its work and has another meaning for 1.
	Misuse = 2
)

// mistake is an error that the user has to correct; policy.Error is one.
type mistake interface {
	error
	Mistake()
}

// usageError is a mistake on the command line or in a file named there.
type usageError struct{ error }

// Mistake implements mistake.
func (usageError) Mistake() {}

// Unwrap returns the mistake.
func (e usageError) Unwrap() error { return e.error }

// ErrDiffers ends a command that worked with exit code 1, as `diff` ends where
// there are differences. It is not printed.
var ErrDiffers = errors.New("there are moves")

// Trouble marks an error of a command for which exit code 1 is an answer: it ends
// with 2, as `diff` does then.
func Trouble(err error) error { return usageError{err} }

// Usage marks an error as a mistake on the command line or in a file named
// there.
func Usage(err error) error { return usageError{err} }

// Usagef formats such an error.
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// Code returns the exit code for what a command returned.
func Code(err error) int {
	if err == nil {
		return OK
	}
	if _, ok := errors.AsType[mistake](err); ok {
		return Misuse
	}
	return Failure
}

// UnlessStopped drops an error that only reports that the process was stopped
// in the meantime.
func UnlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
