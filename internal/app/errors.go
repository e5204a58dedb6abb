package app

import (
	"errors"

	"github.com/evenkeel/evenkeel/policy"
)

// The exit codes of every command.
const (
	ExitOK = 0
	// ExitEnvironment: the command could not do its work.
	ExitEnvironment = 1
	// ExitUsage: the command line or the policy is wrong.
	ExitUsage = 2
)

// UsageError is a mistake on the command line or in a file named there.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }

func (e *UsageError) Unwrap() error { return e.Err }

// ExitCode returns the exit code for what a command returned.
func ExitCode(err error) int {
	if err == nil {
		return ExitOK
	}
	if _, ok := errors.AsType[*UsageError](err); ok || policy.IsInvalid(err) {
		return ExitUsage
	}
	return ExitEnvironment
}
