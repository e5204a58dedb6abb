// Package text prints the values of package status for people: explanations, plans and
// the nodes of top. Its functions only format; package layout determines widths.
package text
