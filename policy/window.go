package policy

import (
	"encoding"
	"fmt"

	"github.com/evenkeel/evenkeel/usage"
)

// Window is a window as policies write it: by its name, of which each has one.
type Window struct{ usage.Window }

var (
	_ encoding.TextMarshaler   = Window{}
	_ encoding.TextUnmarshaler = (*Window)(nil)
)

// MarshalText implements encoding.TextMarshaler.
func (w Window) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler. It takes a window only by
// its one name, so that no window can stand in a mapping twice.
func (w *Window) UnmarshalText(text []byte) error {
	parsed, err := usage.ParseWindow(string(text))
	if err != nil {
		return err
	}
	if name := parsed.String(); name != string(text) {
		return fmt.Errorf("%q is written %q", text, name)
	}
	w.Window = parsed
	return nil
}
