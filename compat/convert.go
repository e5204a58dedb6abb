package compat

import (
	"fmt"

	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/rewritten"
)

// ConvertFile converts a file. fileName is used only in messages. Any error is a
// *policy.Error that lists every mistake.
func ConvertFile(fileName string, data []byte, kinds source.Kinds) (*rewritten.File, error) {
	c := &converter{fileName: fileName, kinds: kinds}
	text := c.stream("", data)
	if len(c.problems) == 0 && len(c.result.Parts) == 0 {
		c.problems = append(c.problems, "the file holds no document; expected "+expected)
	}
	if len(text) > policy.MaxFileBytes && len(c.problems) == 0 {
		c.problems = append(c.problems, fmt.Sprintf("in the current format the file has %d bytes; at most %d are allowed", len(text), policy.MaxFileBytes))
	}
	if len(c.problems) > 0 {
		return nil, policy.NewError(fileName, c.problems)
	}
	c.result.Text = text
	return &c.result, nil
}
