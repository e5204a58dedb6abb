package safeguards

import (
	"slices"
	"strings"
)

// Answer is the value of an annotation that should be true or false.
type Answer int

// The answers. A missing annotation is Unstated. An annotation with any other value is
// Unreadable, because its author meant to state something.
const (
	Unstated Answer = iota
	Yes
	No
	Unreadable
)

var (
	meanYes = []string{"true", "t", "1", "yes", "y", "on"}
	meanNo  = []string{"false", "f", "0", "no", "n", "off", "never"}
)

// AnswerOf reads an annotation that should be true or false.
func AnswerOf(annotations map[string]string, key string) Answer {
	value, stated := annotations[key]
	if !stated {
		return Unstated
	}
	word := strings.ToLower(strings.TrimSpace(value))
	switch {
	case slices.Contains(meanYes, word):
		return Yes
	case slices.Contains(meanNo, word):
		return No
	}
	return Unreadable
}
