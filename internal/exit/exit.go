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
	// Failure means that the command could not do its work.
	Failure = 1
	// Misuse means that the command line or the policy is invalid, or that the command
	// failed and uses 1 for something else.
	Misuse = 2
)

// mistake is an error that the user has to correct; policy.Error is one.
type mistake interface {
	error
	Mistake()
}

// usageError is an error on the command line or in a file named there.
type usageError struct{ error }

// Mistake implements mistake.
func (usageError) Mistake() {}

// Unwrap returns the mistake.
func (e usageError) Unwrap() error { return e.error }

// ErrDiffers makes a successful command exit with code 1, as `diff` does if there are
// differences. It is not printed.
var ErrDiffers = errors.New("there are moves")

// Trouble marks an error of a command for which exit code 1 is a result, not an error.
// The command then exits with code 2, as `diff` does.
func Trouble(err error) error { return usageError{err} }

// Usage marks an error as a mistake on the command line or in a file named there.
func Usage(err error) error { return usageError{err} }

// Usagef is Usage with a formatted message.
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// Code returns the exit code for a command's error.
func Code(err error) int {
	if err == nil {
		return OK
	}
	if _, ok := errors.AsType[mistake](err); ok {
		return Misuse
	}
	return Failure
}

// UnlessStopped drops an error that only reports that the process was stopped.
func UnlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
