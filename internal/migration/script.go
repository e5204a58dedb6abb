package migration

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// Containers run a program directly, through others such as tini and env, or from the
// script of a shell. What is read here is what they say for certain: of anything else
// a person has to judge.

var (
	// shells run the text behind -c.
	shells = []string{"sh", "bash", "ash", "dash"}
	// wrappers run the program that is among their arguments.
	wrappers = []string{
		"exec", "env", "command", "nohup", "nice", "ionice", "time", "timeout", "setsid", "stdbuf", "sudo", "su-exec", "gosu",
		"busybox", "tini", "tini-static", "dumb-init", "catatonit",
	}
	// openers are words of a shell in front of a command.
	openers = []string{"do", "then", "else", "elif", "if", "while", "until", "!", "{"}

	assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
)

// call is how a list of words runs a program.
type call struct {
	// at is where the program is; -1 if it is not found, or is inside a script.
	at   int
	args []string
	// script says that a shell runs it.
	script bool
	// unsure says that a person has to read the words.
	unsure bool
}

// deepest bounds how many shells and wrappers are in one another.
const deepest = 5

// callOf finds a program among words that are run as a command.
func callOf(words, binaries []string, depth int) call {
	if depth > deepest {
		return call{at: -1, unsure: true}
	}
	at := 0
	for at < len(words) && (assignment.MatchString(words[at]) || slices.Contains(openers, words[at])) {
		at++
	}
	if at == len(words) {
		return call{at: -1}
	}
	switch base := path.Base(words[at]); {
	case slices.Contains(binaries, base):
		return call{at: at, args: words[at+1:]}
	case slices.Contains(shells, base):
		return callOfShell(words[at+1:], binaries, depth+1)
	case slices.Contains(wrappers, base):
		for i := at + 1; i < len(words); i++ {
			if base := path.Base(words[i]); !slices.Contains(binaries, base) && !slices.Contains(shells, base) && !slices.Contains(wrappers, base) {
				continue
			}
			inner := callOf(words[i:], binaries, depth+1)
			if inner.at >= 0 {
				inner.at += i
			}
			return inner
		}
	}
	return call{at: -1, unsure: strings.Contains(words[at], "$")}
}

// callOfShell finds a program in the script among the arguments of a shell.
func callOfShell(words, binaries []string, depth int) call {
	found := call{at: -1, script: true}
	runs := false // -c was given
	for i, word := range words {
		if option, short := strings.CutPrefix(word, "-"); short && option != "" {
			runs = runs || !strings.HasPrefix(option, "-") && strings.Contains(option, "c")
			continue
		}
		if !runs {
			continue
		}
		commands, ok := commandsOf(word)
		found.unsure = !ok
		given := parameters{words: words[i+1:]}
		seen := false
		for _, command := range commands {
			inner := callOf(given.in(command), binaries, depth)
			seen = seen || inner.at >= 0 || inner.script && !inner.unsure
			found.unsure = found.unsure || inner.unsure
			found.args = append(found.args, inner.args...)
		}
		found.unsure = found.unsure || !seen
		return found
	}
	found.script, found.unsure = runs, true // it runs a file
	return found
}

// parameters are what follows a script. Each is put in only once, so that a script
// cannot make much of little; the others stay as they are written.
type parameters struct {
	words       []string
	first, rest bool // put in
}

// in puts parameters into a command.
func (p *parameters) in(command []string) (words []string) {
	for _, word := range command {
		switch {
		case word == "$0" && !p.first && len(p.words) > 0:
			p.first = true
			words = append(words, p.words[0])
		case (word == "$@" || word == "$*") && !p.rest:
			p.rest = true
			words = append(words, p.words[min(1, len(p.words)):]...)
		default:
			words = append(words, word)
		}
	}
	return words
}

// unreadable are commands that change what others mean.
var unreadable = []string{"eval", "set", "shift", "alias", "source", ".", "function"}

// commandsOf splits a script into commands, and these into words. It is not ok if the
// script has what this does not understand. Parameters stay as they are written.
func commandsOf(script string) (commands [][]string, ok bool) { //nolint:gocyclo // a case for each kind of character
	var (
		command []string
		word    strings.Builder
		begun   bool // a word, which may be empty: ''
		skipped bool // the next word is where a redirection leads
	)
	ok = true
	endWord := func() {
		if begun && !skipped {
			command = append(command, word.String())
		}
		skipped = skipped && !begun
		begun = false
		word.Reset()
	}
	endCommand := func() {
		endWord()
		if len(command) > 0 {
			ok = ok && (!slices.Contains(unreadable, command[0]) || command[0] == "set" && !slices.Contains(command, "--"))
			commands = append(commands, command)
		}
		command, skipped = nil, false
	}
	for i := 0; i < len(script); i++ {
		c, rest := script[i], script[i+1:]
		switch {
		case c == '\\' && rest != "":
			if i++; script[i] != '\n' {
				begun = true
				word.WriteByte(script[i])
			}
		case c == '\'' || c == '"':
			length, closed := quoted(rest, c, &word)
			begun, ok = true, ok && closed
			i += length
		case c == '#' && !begun:
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			i += end
		case c == '>' || c == '<' || c == '&' && strings.HasPrefix(rest, ">"):
			if strings.Trim(word.String(), "0123456789") == "" { // the number of a file
				begun = false
			}
			endWord()
			ok = ok && !strings.HasPrefix(script[i:], "<<") && !strings.HasPrefix(rest, "(")
			for i+1 < len(script) && strings.IndexByte("<>&|", script[i+1]) >= 0 {
				i++
			}
			skipped = true
		case strings.IndexByte(";&|\n()", c) >= 0:
			ok = ok && (c != '(' || !begun && !strings.HasPrefix(rest, ")")) // a function
			endCommand()
		case c == ' ' || c == '\t' || c == '\r':
			endWord()
		default:
			ok = ok && c != '`' && (c != '$' || !strings.HasPrefix(rest, "(") && !strings.HasPrefix(rest, "{"))
			begun = true
			word.WriteByte(c)
		}
	}
	endCommand()
	return commands, ok
}

// quoted adds what is between quotes to a word, and returns its length with the closing
// one.
func quoted(text string, quote byte, word *strings.Builder) (length int, ok bool) {
	ok = true
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == quote:
			return i + 1, ok
		case quote == '"' && c == '\\' && i+1 < len(text) && strings.IndexByte("\\\"$`\n", text[i+1]) >= 0:
			if i++; text[i] != '\n' {
				word.WriteByte(text[i])
			}
		default:
			ok = ok && (quote == '\'' || c != '`' && !strings.HasPrefix(text[i:], "$("))
			word.WriteByte(c)
		}
	}
	return len(text), false
}
