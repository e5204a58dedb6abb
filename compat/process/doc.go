// Package process lets users start Evenkeel like legacy systems: with their flags, their
// environment variables and the args of their scheduler plugins. It also serves the web
// pages that those systems had.
//
// It defines which current setting corresponds to such a flag; the commands apply it.
// Package presets turns the settings into a policy.
package process
