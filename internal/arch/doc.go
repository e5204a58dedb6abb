// Package arch holds no code, only tests: they read the module's sources and
// verify that the rooms keep to the import directions and to the purity that
// docs/architecture.md describes, and that shipped rights and fences hold. Links in
// documents, and the tests that documents name, have to exist. The tables at the
// top of the tests are the rules. There are no limits on size or wording.
package arch
