package doctor

// Examine returns everything that was found.
func Examine(p *Patient) *Report {
	var all []Finding
	for _, check := range []func(*Patient) []Finding{
		examinePolicy, examinePermissions, examineSources, examineMatching, examineCoverage, examineWindows, examineMetrics,
		examineClock, examineExtender, examineSchedulerConfig, examinePause, examineNodeSync,
	} {
		all = append(all, check(p)...)
	}
	return NewReport(all)
}
