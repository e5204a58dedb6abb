package extender

import (
	"bytes"
	"errors"
	"fmt"
	"iter"

	"github.com/evenkeel/evenkeel/internal/jsonscan"
)

// reader reads a request body front to back.
type reader struct {
	body []byte
	scan jsonscan.Scanner
	// where is the path of the field at which the scanner failed.
	where string
}

// reset prepares the reader for a new body.
func (r *reader) reset(body []byte) {
	r.body, r.where = body, ""
	r.scan.SetText(body)
}

// end returns the reason why the body could not be read; nil if it could.
func (r *reader) end() error {
	if err := r.scan.End(); err != nil {
		return fmt.Errorf("%s%w", r.where, err)
	}
	return nil
}

// errRepeated means that a key occurs twice in an object that the extender reads.
// encoding/json's result would then depend on the order and on stale values.
var errRepeated = errors.New("key occurs twice")

// members yields the members of an object that have one of these names. The
// loop's body consumes the value or leaves it to be skipped. It must not break.
func (r *reader) members(names []string) iter.Seq[string] {
	return func(yield func(name string) bool) {
		seen := uint32(0)
		for key := range r.scan.Object {
			i := indexOf(names, key)
			switch {
			case i < 0:
				continue
			case seen&(1<<i) != 0:
				r.scan.Fail(fmt.Errorf("%q: %w", names[i], errRepeated))
				return
			case !yield(names[i]):
				return
			}
			seen |= 1 << i
			if r.scan.Err() != nil {
				r.where = names[i] + ": " + r.where
			}
		}
	}
}

// indexOf returns the index of the name that matches a key, ignoring case like
// encoding/json, or -1. Most keys differ in the first letter, so that is
// checked before the Unicode rules are applied.
func indexOf(names []string, key []byte) int {
	if len(key) == 0 {
		return -1
	}
	first := key[0] | 0x20
	for i, name := range names {
		if key[0] < 0x80 && first != name[0]|0x20 {
			continue
		}
		if string(key) == name || bytes.EqualFold(key, []byte(name)) {
			return i
		}
	}
	return -1
}
