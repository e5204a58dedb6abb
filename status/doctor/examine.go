package doctor

import (
	"cmp"
	"slices"
)

// examination covers one aspect of a check.
type examination struct {
	check   Check
	examine func(*Installation, *notes)
}

// examinations holds all examinations in the order of a report.
var examinations = []examination{
	{CheckPolicy, examinePolicy},
	{CheckPermissions, examinePermissions},
	{CheckSources, examineSources},
	{CheckMatching, examineMatching},
	{CheckCoverage, examineCoverage},
	{CheckWindows, examineWindows},
	{CheckWindows, examineMetrics},
	{CheckClock, examineClock},
	{CheckExtender, examineExtender},
	{CheckExtender, examineSchedulerConfig},
	{CheckSteering, examineSteering},
	{CheckPause, examinePause},
	{CheckLedger, examineLedger},
	{CheckNodeSync, examineNodeSync},
}

// Examine runs all examinations.
func Examine(p *Installation) *Report {
	var all []Finding
	for _, one := range examinations {
		n := notes{check: one.check}
		one.examine(p, &n)
		all = append(all, n.findings...)
	}
	return NewReport(all)
}

// NewReport sorts findings, the worst first, and makes their texts printable.
func NewReport(findings []Finding) *Report {
	r := &Report{Findings: slices.Clone(findings)}
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(slices.Index(levels, a.Level), slices.Index(levels, b.Level)),
			cmp.Compare(a.Check.order(), b.Check.order()),
		)
	})
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Subject, f.Says = oneLine(f.Subject), oneLine(f.Says)
		switch f.Level {
		case Problem:
			r.Problems++
		case Warning:
			r.Warnings++
		case OK:
		}
	}
	return r
}

func (c Check) order() int {
	return slices.IndexFunc(examinations, func(e examination) bool { return e.check == c })
}
