// Package quantity reads amounts from untrusted sources, such as "250m".
//
// resource.ParseQuantity and the decoder of resource.Quantity take minutes for
// "1e-99999999", and their running time grows quadratically with the number of digits.
// Amounts from files or the network go through this package instead, which rejects such
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

// The maximum length of a text, and the maximum number of digits in an exponent.
const (
	maxLength         = 64
	maxExponentDigits = 3
)

// ErrBounds is the error for a text that would take long to parse.
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
		text := string(raw) // a number, unless it is quoted
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

// IsBounds reports whether an error is ErrBounds.
func IsBounds(err error) bool { return errors.Is(err, ErrBounds) }
