// Package testkit holds helpers for the tests of several packages. Programs must not
// import it.
package testkit

import "strings"

// fence begins and ends a block of code in Markdown.
const fence = "```"

// YAMLBlocks returns the fenced blocks of a Markdown text that are marked as
// YAML, in order. A block that is not closed ends with the text.
func YAMLBlocks(markdown []byte) []string {
	var blocks []string
	var block *strings.Builder // nil outside of blocks
	isYAML := false
	finish := func() {
		if block != nil && isYAML {
			blocks = append(blocks, block.String())
		}
		block = nil
	}
	for line := range strings.Lines(string(markdown)) {
		mark, fenced := strings.CutPrefix(strings.TrimSpace(line), fence)
		switch {
		case fenced && block == nil:
			language := strings.ToLower(strings.TrimSpace(mark))
			block, isYAML = &strings.Builder{}, language == "yaml" || language == "yml"
		case fenced:
			finish()
		case block != nil:
			block.WriteString(line)
		}
	}
	finish()
	return blocks
}
