package fanout

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode"

	"github.com/evenkeel/evenkeel/usage"
)

// saidBytes is how much of an error's body is kept; a kubelet says in it which
// permission is missing.
const saidBytes = 200

// StatusError is an answer other than 200.
type StatusError struct {
	Code int
	// Said is the beginning of the answer, one line of printable characters.
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

func newStatusError(response *http.Response) *StatusError {
	said, _ := io.ReadAll(io.LimitReader(response.Body, saidBytes)) // what came says enough
	return &StatusError{Code: response.StatusCode, Said: line(string(said))}
}

// line makes one line of printable characters of whatever a server sent.
func line(text string) string {
	printable := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) && r != unicode.ReplacementChar {
			return r
		}
		return ' '
	}, text)
	return strings.Join(strings.Fields(printable), " ")
}

// ReadError is an answer that came, and that no sense could be made of.
type ReadError struct{ Err error }

// Error implements error.
func (e *ReadError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong with the answer.
func (e *ReadError) Unwrap() error { return e.Err }

// Cause returns under which cause an error of Ask is counted: Unreadable for a
// whole answer that made no sense, Unreachable for none, a broken one or a
// refusal.
func Cause(err error) usage.Cause {
	if _, ok := errors.AsType[*ReadError](err); ok {
		return usage.Unreadable
	}
	return usage.Unreachable
}

// Tally counts what Ask says went wrong, naming the nodes. Only if no node at
// all was read is that an error: the first.
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
