// Package compat lets Evenkeel be started the way earlier systems were: by
// their flags, their environment variables and the args of their scheduler
// plugins. It also keeps the web pages that their users read.
//
// It decides what of today such a flag means, and leaves to the commands what
// to do with it. What the settings mean as a policy is package presets'.
package compat
