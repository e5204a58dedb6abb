package policy

import (
	"errors"
	"strings"
)

// Error lists everything that is wrong with one policy file.
type Error struct {
	// File is the name of the file as the user gave it.
	File string
	// Problems holds one line per mistake, without the file name.
	Problems []string
}

var _ error = (*Error)(nil)

// Error returns one line per mistake, each starting with the file name.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, problem := range e.Problems {
		lines[i] = e.File + ": " + problem
	}
	return strings.Join(lines, "\n")
}

// IsInvalid reports whether err says that a policy file is wrong, as opposed to
// unreadable: the user has to edit it, trying again is of no use.
func IsInvalid(err error) bool {
	_, invalid := errors.AsType[*Error](err)
	return invalid
}
