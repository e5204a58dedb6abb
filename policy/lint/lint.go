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
func Examine(s Subject) (findings []Finding, does []string) {
	s.prepare()
	for _, check := range []func(*Subject) []Finding{
		converted, scope, plugins, levels, hot, observation, pace, times, steering, sources, measured,
	} {
		findings = append(findings, check(&s)...)
	}
	for _, words := range []func(*Subject) []string{
		readsWords, evictsWords, landsWords, paceWords, timesWords, pluginsWords, limitsWords, schedulingWords, syncWords,
	} {
		does = append(does, words(&s)...)
	}
	return findings, does
}
