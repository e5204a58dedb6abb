package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// Progress reports the progress of slow operations. On a terminal, it overwrites a single
// line; elsewhere, it prints a line every fifteen seconds.
type Progress struct {
	out io.Writer
	// width is the width of the terminal; 0 if lines cannot be overwritten.
	width int
	// said is when the last line was written, or when the operation began. text is that
	// line.
	said time.Time
	text string
}

// progressEvery is the time between two lines that are not overwritten.
const progressEvery = 15 * time.Second

// NewProgress returns a Progress for an operation that begins now. out may be nil.
func NewProgress(out io.Writer, now time.Time) *Progress {
	style, _ := StyleOf(out, "never", nil)
	return &Progress{out: out, width: style.Width, said: now}
}

// Say reports the progress at the given time.
func (p *Progress) Say(now time.Time, text string) {
	switch {
	case p.out == nil || text == p.text:
	case p.width > 0:
		if runes := []rune(text); len(runes) >= p.width { // a line that wraps cannot be overwritten
			text = string(runes[:p.width-1])
		}
		rest := max(utf8.RuneCountInString(p.text)-utf8.RuneCountInString(text), 0)
		fmt.Fprintf(p.out, "\r%s%s", text, strings.Repeat(" ", rest))
		p.text = text
	case now.Sub(p.said) >= progressEvery:
		fmt.Fprintln(p.out, text)
		p.said, p.text = now, text
	}
}

// Done removes the overwritten line.
func (p *Progress) Done() {
	if p.width > 0 && p.text != "" {
		fmt.Fprintf(p.out, "\r%s\r", strings.Repeat(" ", utf8.RuneCountInString(p.text)))
		p.text = ""
	}
}

// Steps reports the current one of several steps and its duration, once the steps have
// taken two seconds.
type Steps struct {
	doing       atomic.Value
	stop, ended chan struct{}
}

// NewSteps returns Steps that begin now and end with Done. out may be nil.
func NewSteps(out io.Writer) *Steps {
	const quiet = 2 * time.Second
	s := &Steps{stop: make(chan struct{}), ended: make(chan struct{})}
	s.Begin("Starting")
	began := time.Now()
	told := NewProgress(out, began)
	go func() {
		defer close(s.ended)
		defer told.Done()
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-s.stop:
				return
			case now := <-tick.C:
				if waited := now.Sub(began); waited >= quiet {
					told.Say(now, fmt.Sprintf("%s (%v so far)", s.doing.Load(), waited.Round(time.Second)))
				}
			}
		}
	}()
	return s
}

// Begin names the step that begins now.
func (s *Steps) Begin(text string) { s.doing.Store(text) }

// Done ends the steps and removes the overwritten line.
func (s *Steps) Done() {
	close(s.stop)
	<-s.ended
}
