// Package lint says what a policy will do, in words, and what of it may not
// have been meant. It decides what is suspicious; whether a policy is valid is
// left to package policy and to the plugins' own validation, which come first.
//
// Invariants:
//   - The policy that the project ships gives no warning.
//   - Words are made from the same values that the processes go by.
package lint

// Examine returns what there is to know about a policy and, in sentences, what
// it will do.
func Examine(of Subject) (findings []Finding, does []string) {
	s := newSurvey(of)
	for _, part := range []func(){
		s.converted, s.scope, s.plugins, s.levels, s.hot, s.observation, s.pace, s.times, s.steering, s.sources, s.measured,
		s.readsWords, s.evictsWords, s.landsWords, s.paceWords, s.timesWords, s.pluginsWords, s.limitsWords, s.schedulingWords, s.syncWords,
	} {
		part()
	}
	return s.findings, s.does
}
