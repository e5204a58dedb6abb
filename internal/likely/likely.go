// Package likely guesses the word meant by a misspelled one. All messages about unknown
// names use it: names of fields, plugins, flags, commands, metrics and windows.
package likely

import (
	"fmt"
	"strings"
)

const (
	// beginning is the minimum length of a prefix that is accepted for the whole word.
	beginning = 3
	// longest is the maximum length of a text to compare; a longer text is not a word.
	longest = 64
	// mostMistakes is the number of mistakes allowed in a long word.
	mostMistakes = 4
)

// Word returns the word most similar to typed, the first one in case of a tie; empty if
// none is similar enough. One mistake is allowed per three letters: a letter that is
// extra, missing, wrong, or swapped with the next one. In a word of three letters, only a
// missing letter is allowed. Case is ignored. If no word is that close, Word returns the
// first one that starts with typed.
func Word[T ~string](typed string, words []T) T {
	var found T
	if len(typed) > longest {
		return found
	}
	lower := strings.ToLower(typed)
	runes := []rune(lower)
	nearest := min(len(runes)/3, mostMistakes) + 1
	for _, word := range words {
		letters := []rune(strings.ToLower(string(word)))
		if len(runes) <= beginning && len(letters) == len(runes) && string(letters) != lower {
			continue // gpu is a different word from cpu
		}
		if d := distance(runes, letters); d < nearest {
			found, nearest = word, d
		}
	}
	if found != "" || len(runes) < beginning {
		return found
	}
	for _, word := range words {
		if strings.HasPrefix(strings.ToLower(string(word)), lower) {
			return word
		}
	}
	return ""
}

// Hint returns a suffix for a message about typed that asks whether the likely
// word was meant; empty if there is none.
func Hint[T ~string](typed string, words []T) string {
	if word := Word(typed, words); word != "" {
		return fmt.Sprintf(", did you mean %q?", string(word))
	}
	return ""
}

// distance counts the letters to insert, delete, replace or swap with the next one in
// order to turn one text into the other (optimal string alignment).
func distance(a, b []rune) int {
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, x := range a {
		before, above, row = above, row, before
		row[0] = i + 1
		for j, y := range b {
			replaced := above[j]
			if x != y {
				replaced++
			}
			row[j+1] = min(replaced, above[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && x == b[j-1] && a[i-1] == y {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
