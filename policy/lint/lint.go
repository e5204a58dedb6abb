// Package lint describes in words what a policy will do, and warns about effects that may
// be unintended. It decides only what is suspicious. Package policy and the plugins' own
// validation have already decided whether a policy is valid.
//
// Invariants:
//
// - The policy that the project ships gives no warning.
// - Words are made from the same values that the processes use.
package lint

// Examine returns findings about a policy, and sentences that describe what the policy
// will do.
func Examine(of Subject) (findings []Finding, does []string) {
	s := newSurvey(of)
	for _, part := range []func(){
		s.converted, s.scope, s.idle, s.plugins, s.resources, s.warnings, s.levels, s.hot, s.rising, s.recurs, s.observation, s.pace, s.times, s.steering, s.sources, s.measured,
		s.readsWords, s.evictsWords, s.worthWords, s.strategiesWords, s.landsWords, s.paceWords, s.timesWords, s.pluginsWords, s.limitsWords, s.schedulingWords, s.syncWords,
	} {
		part()
	}
	return s.findings, s.does
}
