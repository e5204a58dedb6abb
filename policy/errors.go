package policy

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
)

// Error lists all mistakes in one policy file.
type Error struct {
	// File is the name of the file as the user gave it.
	File string
	// Problems holds one line per mistake, each without the file name.
	Problems []string
}

var _ error = (*Error)(nil)

// maxProblems bounds an error message. A file with more mistakes than this is not a policy file.
const maxProblems = 50

// maxProblemBytes bounds one problem, because it may quote the file.
const maxProblemBytes = 2000

// NewError returns an Error with the first problems, one per line, and the number of remaining ones.
func NewError(fileName string, problems []string) *Error {
	e := &Error{File: fileName}
	for i, problem := range problems {
		if i == maxProblems {
			e.Problems = append(e.Problems, fmt.Sprintf("and %d more", len(problems)-maxProblems))
			break
		}
		e.Problems = append(e.Problems, OneLine(shorten(problem)))
	}
	return e
}

// shorten cuts the middle out of a problem that is too long.
func shorten(problem string) string {
	if len(problem) <= maxProblemBytes {
		return problem
	}
	half := maxProblemBytes / 2
	return strings.ToValidUTF8(problem[:half]+" ... "+problem[len(problem)-half:], "")
}

// OneLine replaces every character that could end a line or move the cursor.
func OneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || strings.ContainsRune("\u2028\u2029\ufeff\ufffd", r) {
			return ' '
		}
		return r
	}, text)
}

// Mistake marks the error as one that the user has to correct. A command then exits with
// code 2.
func (*Error) Mistake() {}

// Error returns one line per mistake, each starting with the file name.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, problem := range e.Problems {
		lines[i] = e.File + ": " + problem
	}
	return strings.Join(lines, "\n")
}

// IsInvalid reports whether err means that a policy file is invalid, as opposed to
// unreadable. The user then has to edit the file; retrying does not help.
func IsInvalid(err error) bool {
	_, invalid := errors.AsType[*Error](err)
	return invalid
}
