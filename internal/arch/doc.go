// Package arch holds no code, only tests. They read the module's sources, check the
// import directions and the purity that docs/architecture.md describes, and check that
// shipped permissions and fences match. Links in documents, and the tests that documents
// name, must exist. The tables at the top of the tests are the rules. There are no limits
// on size or wording.
package arch
