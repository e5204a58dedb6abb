package commands

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/evictor/history"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/output"
	"github.com/evenkeel/evenkeel/internal/terminal/layout"
)

// Each command with output for people has the flag --color, and rejects invalid values at once.
func TestColor(t *testing.T) {
	const odd = "sometimes"
	for name, run := range map[string]func() error{
		"top": func() error {
			return Top(t.Context(), flags.Options{}, TopOptions{Format: "table", Color: odd}, &bytes.Buffer{})
		},
		"plan": func() error {
			return Plan(t.Context(), flags.Options{}, PlanOptions{Format: "table", Color: odd}, &bytes.Buffer{})
		},
		"explain": func() error {
			return Explain(t.Context(), flags.Options{}, ExplainOptions{Format: "wide", Color: odd}, []string{"node", "n"}, &bytes.Buffer{})
		},
		"doctor": func() error {
			return Doctor(t.Context(), flags.Options{}, DoctorOptions{Format: "table", Mode: "run", Color: odd}, &bytes.Buffer{})
		},
		"history": func() error {
			return History(t.Context(), flags.Options{}, HistoryOptions{Format: "table", Color: odd}, &bytes.Buffer{})
		},
	} {
		err := run()
		if want := `--color: "sometimes" is not one of auto|always|never`; err == nil || err.Error() != want || exit.Code(err) != exit.Misuse {
			t.Errorf("%s: error %v with exit code %d, want %q with %d", name, err, exit.Code(err), want, exit.Misuse)
		}
	}
}

// Output is colored if colors are enabled, except JSON.
func TestShow(t *testing.T) {
	report := HistoryReport{Evictions: []HistoryEviction{{Entry: history.Entry{Namespace: "shop", Pod: "web", At: time.Unix(0, 0)}, Result: "helped"}}}
	for name, tc := range map[string]struct {
		format, color string
		want          bool
	}{
		"always": {"table", "always", true}, "never": {"table", "never", false}, "auto without a terminal": {"table", "auto", false},
		"none given": {"wide", "", false}, "JSON": {"json", "always", false},
	} {
		var out bytes.Buffer
		if err := output.Show(&out, tc.format, tc.color, report, report.table); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out.String(), string(layout.Green)+"helped"); got != tc.want || !strings.Contains(out.String(), "helped") {
			t.Errorf("%s: colors %v, want %v:\n%s", name, got, tc.want, out.String())
		}
	}
}
