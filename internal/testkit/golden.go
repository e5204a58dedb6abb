package testkit

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/internal/terminal/layout"
)

// Golden compares got with a file, or writes the file if update is set.
func Golden(t *testing.T, update bool, file, got string) {
	t.Helper()
	if update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; -update writes it", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// The widths of a narrow, a usual and a wide terminal.
const (
	Narrow = 80
	Usual  = 100
	Broad  = 160
)

var escapes = regexp.MustCompile("\033\\[[0-9;]*m")

// GoldenText compares what a view prints at the usual width with testdata/NAME.txt, or
// writes the file if update is set. Package layout tests the layout, so the other widths
// and color have no files: there, lines must fit, and color must not change a word. Lines
// that are never wrapped, such as commands to paste, are exempt.
func GoldenText(t *testing.T, update bool, name string, text func(layout.Style) string) {
	t.Helper()
	Golden(t, update, filepath.Join("testdata", name+".txt"), text(layout.Style{Width: Usual}))
	whole := text(layout.Style{})
	for _, width := range []int{Narrow, Usual, Broad} {
		plain, colored := text(layout.Style{Width: width}), text(layout.Style{Width: width, Color: true})
		if diff := cmp.Diff(plain, escapes.ReplaceAllString(colored, "")); diff != "" {
			t.Errorf("%s at %d columns: color changes words (-without +with):\n%s", name, width, diff)
		}
		for line := range strings.Lines(plain) {
			if n := layout.Cells(strings.TrimSuffix(line, "\n")); n > width && !strings.Contains(whole, line) {
				t.Errorf("%s: %d cells, more than %d: %s", name, n, width, line)
			}
		}
	}
}

// GoldenLayout compares what a view prints on a narrow terminal in color with
// testdata/NAME-layout.txt, or writes the file if update is set. Each view needs it for
// only one report, with names that are too long for the columns and a word in each color.
func GoldenLayout(t *testing.T, update bool, name string, text func(layout.Style) string) {
	t.Helper()
	Golden(t, update, filepath.Join("testdata", name+"-layout.txt"), text(layout.Style{Width: Narrow, Color: true}))
}
