// Package likely finds the word that a misspelt one was meant to be, for every
// message about a name that is not known: fields, plugins, flags, commands,
// metrics, windows.
package likely

import (
	"fmt"
	"strings"
)

const (
	// beginning is the length from which the beginning of a word means it.
	beginning = 3
	// longest bounds what is compared: a longer text is no word.
	longest = 64
	// mostMistakes are those in a long word.
	mostMistakes = 4
)

// Word returns the word that typed is most like, the first of several; empty if
// it is like none. One mistake in every three letters may be made: a letter too
// many, missing, wrong, or exchanged with the next; of three letters only a
// missing one. Case does not count. If no word is that near, it is the first that
// begins with typed.
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
			continue // gpu is another word than cpu
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

// Hint asks whether the likely word was meant, to follow a message about typed;
// empty if there is none.
func Hint[T ~string](typed string, words []T) string {
	if word := Word(typed, words); word != "" {
		return fmt.Sprintf(", did you mean %q?", string(word))
	}
	return ""
}

// distance counts the letters to insert, delete, replace or exchange with the
// next to make one text the other: the optimal string alignment.
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
