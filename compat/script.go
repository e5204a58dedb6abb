package compat

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Containers run a program directly, through other programs such as tini and env, or from
// a shell script. This file recognizes only what is certain; a user must check everything
// else.

var (
	// shells run the script that follows -c.
	shells = []string{"sh", "bash", "ash", "dash"}
	// wrappers run the program named in their arguments.
	wrappers = []string{
		"exec", "env", "command", "nohup", "nice", "ionice", "time", "timeout", "setsid", "stdbuf", "sudo", "su", "su-exec", "gosu",
		"chroot", "busybox", "tini", "tini-static", "dumb-init", "catatonit", xargs,
	}
	// unreadable holds commands that change the meaning of other commands.
	unreadable = []string{"eval", "set", "shift", "alias", "source", "."}
)

// xargs is a wrapper that appends arguments that it reads from its input.
const xargs = "xargs"

// call describes how a list of words runs a program.
type call struct {
	// at is the position of the program among the words; -1 if it is not found
	// or is inside a script.
	at   int
	args []string
	// script means that a shell runs it.
	script bool
	// unsure means that it is unclear what the words run, so a user must check them.
	unsure bool
}

// deepest is the maximum nesting depth of shells and wrappers.
const deepest = 5

// callOf finds a program in the words of a command.
func callOf(words, binaries []string, depth int) call {
	if depth > deepest {
		return call{at: -1, unsure: true}
	}
	if len(words) == 0 {
		return call{at: -1}
	}
	base := path.Base(words[0])
	switch {
	case slices.Contains(binaries, base):
		return call{args: words[1:]}
	case slices.Contains(shells, base):
		return callOfShell(words[1:], binaries, depth+1)
	case slices.Contains(wrappers, base):
		for i := 1; i < len(words); i++ {
			if base := path.Base(words[i]); !slices.Contains(binaries, base) && !slices.Contains(shells, base) && !slices.Contains(wrappers, base) {
				continue
			}
			inner := callOf(words[i:], binaries, depth+1)
			if inner.at >= 0 {
				inner.at += i
			}
			inner.unsure = inner.unsure || base == xargs
			return inner
		}
	}
	return call{at: -1, unsure: strings.Contains(words[0], "$")}
}

// callOfShell finds a program in the script among the arguments of a shell.
func callOfShell(words, binaries []string, depth int) call {
	found := call{at: -1, script: true}
	runs := false // -c is among the arguments
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
	found.script, found.unsure = runs, true // the shell runs a file
	return found
}

// parameters are the arguments after a script. Each is substituted only once, so that a
// script cannot grow without limit; further occurrences are left unchanged.
type parameters struct {
	words       []string
	first, rest bool // already substituted
}

// in substitutes parameters in a command.
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

// longest is the maximum length of parsed scripts. The parser recurses, and a stack
// overflow would end the process.
const longest = 8 << 10

// commandsOf returns the commands in a script, each as words. ok is false if anything in
// the script may change their meaning. Parameters are left unchanged.
func commandsOf(script string) (commands [][]string, ok bool) {
	if len(script) > longest {
		return linesOf(script), false
	}
	file, err := syntax.NewParser().Parse(strings.NewReader(script), "")
	if ok = err == nil; !ok {
		if file, err = syntax.NewParser(syntax.RecoverErrors(10)).Parse(strings.NewReader(script), ""); err != nil {
			return linesOf(script), false
		}
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.FuncDecl:
			ok = false
		case *syntax.CmdSubst, *syntax.ProcSubst:
			return false // a separate command; see wordOf
		case *syntax.CallExpr:
			command := make([]string, 0, len(n.Args))
			for _, arg := range n.Args {
				word, plain := wordOf(arg, script)
				command, ok = append(command, word), ok && plain
			}
			if len(command) > 0 {
				ok = ok && (!slices.Contains(unreadable, command[0]) || command[0] == "set" && !slices.Contains(command, "--"))
				commands = append(commands, command)
			}
		}
		return true
	})
	return commands, ok
}

// linesOf treats each line of a script as a command.
func linesOf(script string) (commands [][]string) {
	for line := range strings.Lines(script) {
		if words := strings.Fields(line); len(words) > 0 {
			commands = append(commands, words)
		}
	}
	return commands
}

// wordOf returns a word without its quotes. plain reports whether the shell certainly
// uses this word, apart from the parameters in it.
func wordOf(word *syntax.Word, script string) (text string, plain bool) {
	var b strings.Builder
	plain = !syntax.SplitBraces(&syntax.Word{Parts: word.Parts}) // bash expands {a,b} into several words
	end := uint(len(script))
	var add func(parts []syntax.WordPart, quoted bool)
	add = func(parts []syntax.WordPart, quoted bool) {
		for _, part := range parts {
			switch p := part.(type) {
			case *syntax.Lit:
				b.WriteString(unescaped(p.Value, quoted))
			case *syntax.SglQuoted:
				plain = plain && !p.Dollar
				b.WriteString(p.Value)
			case *syntax.DblQuoted:
				add(p.Parts, true)
			default:
				written := script[min(part.Pos().Offset(), end):min(max(part.Pos().Offset(), part.End().Offset()), end)]
				if parameter, ok := part.(*syntax.ParamExp); ok && parameter.Param != nil && (written == "$"+parameter.Param.Value || written == "${"+parameter.Param.Value+"}") {
					written = "$" + parameter.Param.Value
				} else {
					plain = false
				}
				b.WriteString(written)
			}
		}
	}
	add(word.Parts, false)
	return b.String(), plain
}

// unescaped returns a literal without its backslashes. Between quotes, only some
// characters can be escaped.
func unescaped(text string, quoted bool) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+1 < len(text) && (!quoted || strings.IndexByte("\\\"$`\n", text[i+1]) >= 0) {
			if i++; text[i] == '\n' {
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
