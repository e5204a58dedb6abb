// Package process lets Evenkeel be started like legacy systems: with their
// flags, their environment variables and the args of their scheduler plugins.
// It also serves the web pages that their users read.
//
// It decides which current setting corresponds to such a flag; the commands
// apply it. Package presets turns the settings into a policy.
package process
