package terminal

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/internal/terminal/layout"
)

// By default, only terminals show colors. A flag overrides that.
func TestStyleOf(t *testing.T) {
	env := func(string) string { return "" }
	for color, want := range map[string]bool{"auto": false, "always": true, "never": false} {
		got, err := StyleOf(&bytes.Buffer{}, color, env)
		if diff := cmp.Diff(layout.Style{Color: want}, got); err != nil || diff != "" {
			t.Errorf("%s: %v, style (-want +got):\n%s", color, err, diff)
		}
	}
	_, err := StyleOf(&bytes.Buffer{}, "sometimes", env)
	if want := `--color: "sometimes" is not one of auto|always|never`; err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
}

// Outside a terminal, a line is written every 15 seconds. On a terminal, the line is overwritten
// and finally removed.
func TestProgress(t *testing.T) {
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	play := func(p *Progress) {
		for second := range 32 {
			p.Say(began.Add(time.Duration(second)*time.Second), strings.Repeat("x", 32-second))
		}
		p.Done()
	}
	var out bytes.Buffer
	play(NewProgress(&out, began))
	want := strings.Repeat("x", 17) + "\n" + strings.Repeat("x", 2) + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	out.Reset()
	p := Progress{out: &out, width: 10}
	p.Say(began, "12 of 20")
	p.Say(began, "3 left")
	p.Say(began, "longer than a line")
	p.Done()
	if diff := cmp.Diff("\r12 of 20\r3 left  \rlonger th\r         \r", out.String()); diff != "" {
		t.Errorf("written over (-want +got):\n%s", diff)
	}
	play(NewProgress(nil, began))
}

// Steps print nothing for two seconds and then the current step, and end with their operation.
func TestSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := NewSteps(&out)
		s.Begin("Asking")
		time.Sleep(16 * time.Second)
		s.Begin("Listing")
		time.Sleep(13 * time.Second)
		s.Done()
		if diff := cmp.Diff("Asking (15s so far)\n", out.String()); diff != "" {
			t.Errorf("lines (-want +got):\n%s", diff)
		}
		quick := NewSteps(nil)
		time.Sleep(time.Hour)
		quick.Done()
	})
}

// Outside a terminal, nothing is written in the first seconds.
func TestQuickStepsAreSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := NewSteps(&out)
		time.Sleep(1900 * time.Millisecond)
		s.Done()
		if out.Len() > 0 {
			t.Errorf("wrote %q", out.String())
		}
	})
}
