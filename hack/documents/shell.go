package documents

import (
	"errors"
	"regexp"
	"strings"
)

// placeholder matches a text for readers to replace that a shell would misinterpret.
// optional matches a text that may be omitted.
var (
	placeholder = regexp.MustCompile(`<([A-Za-z][A-Za-z0-9 _-]*)>`)
	optional    = regexp.MustCompile(`\[(-[^\]]*|[A-Z]+(\.\.\.)?)\]`)
	here        = regexp.MustCompile(`<<-?\s*['"]?(\w+)['"]?`)
)

// hereDocument returns the word that ends the here-document of a command line; empty if
// there is none.
func hereDocument(typed string) string {
	if found := here.FindStringSubmatch(typed); found != nil {
		return found[1]
	}
	return ""
}

// parseShell splits a command line as a shell does. It supports the syntax that documents
// use: quotes, comments, pipes, lists, redirections and substitutions. It also returns
// the text without its comment.
func parseShell(typed string) (pipelines []Pipeline, text string, err error) {
	typed = here.ReplaceAllString(strings.TrimSpace(typed), "")
	typed = placeholder.ReplaceAllStringFunc(typed, func(name string) string {
		return strings.ToUpper(strings.ReplaceAll(strings.Trim(name, "<>"), " ", "-"))
	})
	s := &shell{text: optional.ReplaceAllString(typed, "$1")}
	if err := s.run(); err != nil {
		return nil, "", err
	}
	return s.pipelines, strings.TrimSpace(s.text[:s.at]), nil
}

// shell is the state of parsing a line.
type shell struct {
	text      string
	at        int // index of the next byte
	pipelines []Pipeline
	began     int // index where the pipeline begins

	pipeline Pipeline
	words    []string
	word     strings.Builder
	inWord   bool
	redirect bool // the next word is a file, not an argument
	inner    []Command
}

// run parses the text up to its end or a comment.
func (s *shell) run() error {
	for s.at < len(s.text) {
		c := s.text[s.at]
		switch {
		case c == '#' && !s.inWord:
			s.endPipeline(s.at, s.at)
			return nil
		case c == '\'' || c == '"':
			if err := s.quoted(c); err != nil {
				return err
			}
		case c == '\\' && s.at+1 < len(s.text):
			s.put(s.text[s.at+1])
			s.at += 2
		case c == ' ' || c == '\t':
			s.endWord()
			s.at++
		case strings.HasPrefix(s.text[s.at:], "<(") || strings.HasPrefix(s.text[s.at:], "$("):
			if err := s.substitution(); err != nil {
				return err
			}
		case strings.IndexByte("|&;<>", c) >= 0:
			s.operator(c)
		default:
			s.put(c)
			s.at++
		}
	}
	s.endPipeline(s.at, s.at)
	return nil
}

func (s *shell) put(c byte) {
	s.word.WriteByte(c)
	s.inWord = true
}

// quoted reads up to the closing quote.
func (s *shell) quoted(quote byte) error {
	end := strings.IndexByte(s.text[s.at+1:], quote)
	if end < 0 {
		return errors.New("a quote is not closed")
	}
	s.word.WriteString(s.text[s.at+1 : s.at+1+end])
	s.inWord = true
	s.at += end + 2
	return nil
}

// substituted replaces the output of another command.
const substituted = "SUBSTITUTED"

// substitution reads a command whose output is a word of the current command.
func (s *shell) substitution() error {
	end := strings.IndexByte(s.text[s.at:], ')')
	if end < 0 {
		return errors.New("a parenthesis is not closed")
	}
	inner := &shell{text: s.text[s.at+2 : s.at+end]}
	if err := inner.run(); err != nil {
		return err
	}
	for _, p := range inner.pipelines {
		s.inner = append(s.inner, p.Commands...)
	}
	s.word.WriteString(substituted)
	s.inWord = true
	s.at += end + 1
	return nil
}

// operator reads a pipe, the end of a command, or a redirection.
func (s *shell) operator(c byte) {
	rest, from := s.text[s.at:], s.at
	switch {
	case strings.HasPrefix(rest, "&&") || strings.HasPrefix(rest, "||"):
		s.at += 2
		s.endPipeline(from, s.at)
	case c == ';' || c == '&':
		s.at++
		s.endPipeline(from, s.at)
	case c == '|':
		s.at++
		s.endCommand()
	default: // < > >> 2>&1
		if word := s.word.String(); word == "1" || word == "2" {
			s.word.Reset()
			s.inWord = false
		}
		s.endWord()
		s.at += len(rest) - len(strings.TrimLeft(rest, "<>&"))
		s.redirect = true
	}
}

// endWord adds the word to the command, unless it is the file of a redirection or an
// assignment before the program.
func (s *shell) endWord() {
	if !s.inWord {
		return
	}
	word := s.word.String()
	s.word.Reset()
	s.inWord = false
	switch {
	case s.redirect:
		s.redirect = false
	case len(s.words) == 0 && assignment.MatchString(word):
	default:
		s.words = append(s.words, word)
	}
}

var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

func (s *shell) endCommand() {
	s.endWord()
	if len(s.words) > 0 {
		s.pipeline.Commands = append(s.pipeline.Commands, unwrap(s.words)...)
	}
	s.pipeline.Commands = append(s.pipeline.Commands, s.inner...)
	s.words, s.inner, s.redirect = nil, nil, false
}

// endPipeline ends the pipeline at index at; the next one begins at index next.
func (s *shell) endPipeline(at, next int) {
	s.endCommand()
	if len(s.pipeline.Commands) > 0 {
		s.pipeline.Text = strings.TrimSpace(s.text[s.began:at])
		s.pipelines = append(s.pipelines, s.pipeline)
	}
	s.pipeline, s.began = Pipeline{}, next
}
