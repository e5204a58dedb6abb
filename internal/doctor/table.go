package doctor

import (
	"fmt"
	"io"
	"strings"

	"github.com/evenkeel/evenkeel/reasons"
)

// The columns of the table: level, check, and what was found with its fix.
const columns = "%-9s%-13s%s\n"

// Table prints the report for a person.
func (r *Report) Table(out io.Writer) error {
	var text strings.Builder
	for i := range r.Findings {
		f := &r.Findings[i]
		sentence := f.Says
		if f.Subject != "" {
			sentence = f.Subject + ": " + sentence
		}
		fmt.Fprintf(&text, columns, f.Level, f.Check, sentence)
		for line := range strings.Lines(f.Mend) {
			text.WriteString(strings.TrimRight(fmt.Sprintf(columns, "", "", "> "+strings.TrimRight(line, "\n")), " \n") + "\n")
		}
	}
	fmt.Fprintf(&text, "\n%s, %s.\n", reasons.Count(r.Problems, "problem"), reasons.Count(r.Warnings, "warning"))
	if _, err := io.WriteString(out, text.String()); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
