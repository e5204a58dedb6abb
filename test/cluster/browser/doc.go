// Package browser holds the tests of the page in a real browser, against a
// process of this test that observes the given number of nodes.
package browser
