// Package browser holds the tests of the page in a real browser, against a
// process of this test that observes as many nodes as it is told.
package browser
