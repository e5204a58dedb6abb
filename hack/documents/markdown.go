package documents

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Parse returns the command lines in a Markdown text. file is used only in messages.
func Parse(file, markdown string) ([]Line, error) {
	blocks, prose := split(markdown)
	var lines []Line
	for _, b := range blocks {
		if !b.isCommands() {
			if !b.fenced { // it may be a paragraph of a list item
				copy(prose[b.first:], b.lines)
			}
			continue
		}
		found, err := b.commands(file)
		if err != nil {
			return nil, err
		}
		lines = append(lines, found...)
	}
	mentions, err := mentioned(file, prose)
	if err != nil {
		return nil, err
	}
	lines = append(lines, mentions...)
	slices.SortStableFunc(lines, func(a, b Line) int { return a.Number - b.Number })
	return lines, nil
}

// block is a fenced or indented code block without its indentation.
type block struct {
	first    int // index of its first line
	lines    []string
	language string
	fenced   bool
}

// fence matches the beginning or end of a block, which may name a shell as its language.
var (
	fence  = regexp.MustCompile("^( *)(```+|~~~+) *([A-Za-z0-9_+-]*)")
	shells = []string{"sh", "bash", "shell", "zsh", "console"}
)

// split separates code blocks from the lines around them, which keep their indices.
func split(markdown string) (blocks []block, prose []string) {
	var s splitter
	blank := true // the previous line is blank
	for i, line := range strings.Split(markdown, "\n") {
		mark := fence.FindStringSubmatch(line)
		prose = append(prose, "")
		switch {
		case s.open != nil && s.open.fenced:
			s.fencedLine(line)
		case mark != nil:
			s.end()
			s.indentation, s.closing = mark[1], mark[2]
			s.open = &block{first: i + 1, language: strings.ToLower(mark[3]), fenced: true}
		case indented(line) && (blank || s.open != nil):
			s.indentedLine(i, line)
		case s.open != nil && strings.TrimSpace(line) == "":
			s.open.lines = append(s.open.lines, "")
		default:
			s.end()
			prose[i] = line
		}
		blank = strings.TrimSpace(line) == ""
	}
	s.end()
	return s.blocks, prose
}

// splitter is the state of split: the open block, and how a fenced block ends and is
// indented.
type splitter struct {
	blocks               []block
	open                 *block
	closing, indentation string
}

// end ends the open block, if there is one.
func (s *splitter) end() {
	if s.open != nil {
		s.blocks, s.open = append(s.blocks, *s.open), nil
	}
}

func (s *splitter) fencedLine(line string) {
	if strings.HasPrefix(strings.TrimSpace(line), s.closing) {
		s.end()
		return
	}
	s.open.lines = append(s.open.lines, strings.TrimPrefix(line, s.indentation))
}

func (s *splitter) indentedLine(i int, line string) {
	if s.open == nil {
		s.open = &block{first: i}
	}
	s.open.lines = append(s.open.lines, strings.TrimPrefix(strings.TrimPrefix(line, "\t"), "    "))
}

func indented(line string) bool {
	return (strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")) && strings.TrimSpace(line) != ""
}

// prompt precedes input in a block that also shows output.
const prompt = "$ "

// A line that shows a command begins, after any variables, with a program and a single
// space; in a table of output, there are several spaces. A line with a flag after a few
// plain words looks like a command, whatever its program is.
var (
	first        = regexp.MustCompile(`^\s*(?:[A-Z_]+=[^ ]* )*([^ ]+)( [^ ]|$)`)
	likeACommand = regexp.MustCompile(`^(\./)?[a-z][a-z0-9_./-]*( [a-z0-9_./-]+){0,3} --?[a-z][a-z-]*([ =]|$)`)
)

// isCommands reports whether the block shows what to type: its language is a shell, it
// has a prompt, or it has no language and one of its lines begins with a known program or
// looks like a command with a flag.
func (b *block) isCommands() bool {
	if slices.Contains(shells, b.language) || b.prompted() {
		return true
	}
	return b.language == "" && slices.ContainsFunc(b.lines, func(line string) bool {
		begin := first.FindStringSubmatch(line)
		return begin != nil && isKnown(begin[1]) || likeACommand.MatchString(line)
	})
}

func (b *block) prompted() bool {
	return slices.ContainsFunc(b.lines, func(line string) bool { return strings.HasPrefix(line, prompt) })
}

// commands returns the command lines in a block: those after a prompt or, if there is no
// prompt, all that are not comments.
func (b *block) commands(file string) (found []Line, err error) {
	prompted, until := b.prompted(), ""
	for i := 0; i < len(b.lines); i++ {
		number, text := b.first+i+1, b.lines[i]
		if until != "" { // inside a here-document
			if strings.TrimSpace(text) == until {
				until = ""
			}
			continue
		}
		typed, after := strings.CutPrefix(text, prompt)
		if prompted && !after {
			continue
		}
		for strings.HasSuffix(typed, `\`) && i+1 < len(b.lines) {
			i++
			typed = strings.TrimSuffix(typed, `\`) + strings.TrimSpace(b.lines[i])
		}
		line, err := lineOf(file, number, typed)
		if err != nil {
			return nil, err
		}
		if len(line.Pipelines) > 0 {
			found = append(found, line)
		}
		until = hereDocument(typed)
	}
	return found, nil
}

func lineOf(file string, number int, typed string) (Line, error) {
	pipelines, text, err := parseShell(typed)
	if err != nil {
		return Line{}, fmt.Errorf("%s:%d: %w in %q", file, number, err, typed)
	}
	return Line{File: file, Number: number, Text: text, Pipelines: pipelines}, nil
}

// span matches code in running text, which may continue on the next line.
var span = regexp.MustCompile("`([^`]+)`")

// mentioned returns the commands named in paragraphs and tables.
func mentioned(file string, prose []string) (found []Line, err error) {
	for begin := 0; begin < len(prose); {
		end := begin + 1
		for !isBreak(prose[begin]) && end < len(prose) && !isBreak(prose[end]) {
			end++
		}
		text := strings.Join(prose[begin:end], "\n")
		for _, at := range span.FindAllStringSubmatchIndex(text, -1) {
			code := text[at[2]:at[3]]
			name, rest, several := strings.Cut(strings.Join(strings.Fields(code), " "), " ")
			if !several || !slices.Contains(mentionable, base(name)) {
				continue
			}
			number := begin + 1 + strings.Count(text[:at[2]], "\n")
			line, err := lineOf(file, number, strings.ReplaceAll(name+" "+rest, `\|`, "|"))
			if err != nil {
				return nil, err
			}
			line.Mention = true
			found = append(found, line)
		}
		begin = end
	}
	return found, nil
}

// mentionable holds the programs that running text names together with arguments.
var mentionable = []string{"evenkeel", "kubectl", "kubectl-evenkeel", "make", "go", "cd", "docker", "helm", "git"}

// isBreak reports whether a line ends a paragraph, because it is blank or a row of a
// table.
func isBreak(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || strings.HasPrefix(line, "|")
}
