// Package quantity reads amounts that strangers write, such as "250m".
//
// resource.ParseQuantity and the decoder of resource.Quantity take minutes for
// "1e-99999999", and their time grows with the square of the digits. What comes
// from a file or over the network goes through here instead, which refuses such
// texts before they are parsed.
package quantity

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// The longest text and the most digits of an exponent that are parsed.
const (
	maxLength         = 64
	maxExponentDigits = 3
)

// ErrBounds is the error for a text that is not parsed.
var ErrBounds = fmt.Errorf("too long: at most %d characters are read, with an exponent of at most %d digits", maxLength, maxExponentDigits)

// Check returns an error for a text that would take long to parse.
func Check(text []byte) error {
	if len(text) > maxLength {
		return ErrBounds
	}
	if i := bytes.LastIndexAny(text, "eE"); i >= 0 && len(text)-1-i > maxExponentDigits {
		return ErrBounds
	}
	return nil
}

// Parse parses an amount.
func Parse(text string) (resource.Quantity, error) {
	text = strings.TrimSpace(text)
	if err := Check([]byte(text)); err != nil {
		return resource.Quantity{}, err
	}
	return resource.ParseQuantity(text) //nolint:wrapcheck // it names the text
}

// List is a list of amounts that decodes within the bounds.
type List v1.ResourceList

// UnmarshalJSON implements json.Unmarshaler.
func (l *List) UnmarshalJSON(data []byte) error {
	var texts map[v1.ResourceName]json.RawMessage
	if err := json.Unmarshal(data, &texts); err != nil {
		return err
	}
	if texts == nil {
		return nil
	}
	list := make(List, len(texts))
	for name, raw := range texts {
		if bytes.Equal(raw, []byte("null")) {
			list[name] = resource.Quantity{}
			continue
		}
		text := string(raw) // a number, unless it is in quotes
		if strings.HasPrefix(text, `"`) {
			if err := json.Unmarshal(raw, &text); err != nil {
				return err
			}
		}
		amount, err := Parse(text)
		if err != nil {
			return fmt.Errorf("amount of %.60q: %.80s: %w", name, text, err)
		}
		list[name] = amount
	}
	*l = list
	return nil
}

// IsBounds reports whether an error is about a text that was not parsed.
func IsBounds(err error) bool { return errors.Is(err, ErrBounds) }
