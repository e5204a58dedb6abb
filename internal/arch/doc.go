// Package arch holds no code, only tests: they read the module's sources and
// verify that the rooms keep to the import directions and to the purity that
// docs/architecture.md describes, that shipped rights and fences hold, and that
// links in the documents lead somewhere. The tables at the top of the tests are
// the rules. There are no limits on size or wording.
package arch
