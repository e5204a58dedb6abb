// Package arch holds no code, only a test: it reads the module's sources and
// verifies that the rooms keep to the import directions and to the purity that
// docs/architecture.md describes. The tables at the top of the test are the
// rules; a new room or a new exception is a line there.
package arch
