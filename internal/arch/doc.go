// Package arch holds no code, only tests: they read the module's sources and
// verify that the rooms keep to the import directions and to the purity that
// docs/architecture.md describes, and that sizes stay within limits. The tables
// at the top of the tests are the rules; a new room or a new exception is a
// line there.
package arch
