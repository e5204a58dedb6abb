package doctor

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/reasons"
)

// columns is the format of the columns before the finding: level and check.
const columns = "%-9s%-13s"

// toPaste matches a line of a fix that users paste (YAML or a command). Such a line must
// not be wrapped.
var toPaste = regexp.MustCompile(`^( |- |[A-Za-z.]+:( |$))|(^|[:,] )(kubectl|evenkeel) [a-z-]+`)

// Table prints the report for a person.
func (r *Report) Table(p *layout.Page) {
	hang := fmt.Sprintf(columns, "", "")
	for i := range r.Findings {
		f := &r.Findings[i]
		sentence := f.Says
		if f.Subject != "" {
			sentence = f.Subject + ": " + sentence
		}
		p.Text(fmt.Sprintf(columns, f.Level, f.Check), layout.ColorOf(string(f.Level)), hang, sentence)
		for line := range strings.Lines(f.Fix) {
			if line = strings.TrimRight(line, "\n"); toPaste.MatchString(line) {
				p.Line("", hang+"> "+line)
			} else {
				p.Text(hang+"> ", "", hang+"> ", line)
			}
		}
	}
	p.Line("", "")
	p.Line("", fmt.Sprintf("%s, %s.", reasons.Count(r.Problems, "problem"), reasons.Count(r.Warnings, "warning")))
}
