package doctor

import (
	"fmt"
	"io"
	"strings"

	"github.com/evenkeel/evenkeel/reasons"
)

// The columns of the table: level and check; what is said and how to fix it
// stand in the third.
const columns = "%-9s%-13s%s\n"

// Table prints the report for a person.
func (r *Report) Table(out io.Writer) error {
	var text strings.Builder
	for i := range r.Findings {
		f := &r.Findings[i]
		says := f.Says
		if f.Subject != "" {
			says = f.Subject + ": " + says
		}
		fmt.Fprintf(&text, columns, f.Level, f.Check, says)
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
