// Package process lets Evenkeel be started as legacy systems were: by their
// flags, their environment variables and the args of their scheduler plugins.
// It also serves the web pages that their users read.
//
// It decides which current setting such a flag means, and leaves the rest to
// the commands, which hand it on. Package presets turns the settings into a policy.
package process
