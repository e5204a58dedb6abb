package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"
)

// Progress says how far something is that takes long: on a terminal in one line
// that is written over, elsewhere in a line every fifteen seconds.
type Progress struct {
	out io.Writer
	// width is that of the terminal on which lines are written over; 0 elsewhere.
	width int
	// said is when the last line was written, or what it is about began; text is
	// what it said.
	said time.Time
	text string
}

// progressEvery is the time between two lines where they are not written over.
const progressEvery = 15 * time.Second

// NewProgress returns a Progress of what begins now. It writes to an output,
// which may be nil.
func NewProgress(out io.Writer, now time.Time) *Progress {
	style, _ := StyleOf(out, "never", nil)
	return &Progress{out: out, width: style.Width, said: now}
}

// Say tells how far it is at a moment.
func (p *Progress) Say(now time.Time, text string) {
	switch {
	case p.out == nil || text == p.text:
	case p.width > 0:
		if runes := []rune(text); len(runes) >= p.width { // what breaks cannot be written over
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

// Done takes the line away that was written over.
func (p *Progress) Done() {
	if p.width > 0 && p.text != "" {
		fmt.Fprintf(p.out, "\r%s\r", strings.Repeat(" ", utf8.RuneCountInString(p.text)))
		p.text = ""
	}
}

// Steps is the progress of what asks others one after another: once all of it
// takes longer than two seconds, it says what is being done and for how long.
type Steps struct {
	doing       atomic.Value
	stop, ended chan struct{}
}

// NewSteps returns Steps that begin now. They write to an output, which may be
// nil, until Done.
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

// Begin says what is done from now on.
func (s *Steps) Begin(text string) { s.doing.Store(text) }

// Done ends it, and takes the line away that was written over.
func (s *Steps) Done() {
	close(s.stop)
	<-s.ended
}
