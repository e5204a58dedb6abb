package fanout

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"github.com/evenkeel/evenkeel/observe/usage"
)

// saidBytes bounds how much of an error's body is kept. A kubelet names the missing
// permission there.
const saidBytes = 200

// StatusError is an answer other than 200.
type StatusError struct {
	Code int
	// Said is the beginning of the answer as one line of printable characters.
	Said string
}

// Error implements error.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("%d %s", e.Code, http.StatusText(e.Code))
	if e.Said == "" {
		return text
	}
	return text + ": " + e.Said
}

// line reduces a server's text to one line of printable characters.
func line(text string) string {
	printable := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != unicode.ReplacementChar {
			return r
		}
		return ' '
	}, text)
	return strings.Join(strings.Fields(printable), " ")
}

// ReadError is an answer that arrived but could not be interpreted.
type ReadError struct{ Err error }

// Error implements error.
func (e *ReadError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong with the answer.
func (e *ReadError) Unwrap() error { return e.Err }

// Cause returns the cause under which an error of Ask is counted: Unreadable
// for a complete answer that could not be interpreted, Unreachable for a
// missing or broken answer or a refusal.
func Cause(err error) usage.Cause {
	if _, ok := errors.AsType[*ReadError](err); ok {
		return usage.Unreadable
	}
	return usage.Unreachable
}

// Tally adds the errors of Ask to problems, naming the nodes. It returns an
// error, which contains the first of them, only if no node was read.
func Tally(requests []Request, errs []error, problems *usage.Problems) error {
	failed, first := 0, -1
	for i, err := range errs {
		if err == nil {
			continue
		}
		if failed++; first < 0 {
			first = i
		}
		problems.Add(Cause(err), fmt.Sprintf("node %q: %v", requests[i].Node, err))
	}
	if failed == 0 || failed < len(errs) {
		return nil
	}
	return fmt.Errorf("asking %d nodes: none gave usage; node %q: %w", failed, requests[first].Node, errs[first])
}
