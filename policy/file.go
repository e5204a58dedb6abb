package policy

import (
	"fmt"
	"slices"

	"github.com/evenkeel/evenkeel/observe/usage"
)

// Runs reports whether the file defines what to run.
func (f *File) Runs() bool { return f.Descheduler != nil || f.DefaultProfile }

// Warnings returns warnings about a valid file.
func (f *File) Warnings() []Note {
	if unjudged := f.Unjudged(); unjudged != nil {
		return append([]Note{*unjudged}, f.Retired...)
	}
	return f.Retired
}

// Unjudged returns a warning if lines leave out cpu or memory, because they list only the
// other one; otherwise nil. It does not warn about a file from a legacy system, where the
// omission is not a mistake.
func (f *File) Unjudged() *Note {
	converted := func(c Conversion) bool { return c.Object["kind"] == LoadPolicyKind }
	if !f.Load.JudgesResources() || slices.ContainsFunc(f.Converted, converted) {
		return nil
	}
	for _, resource := range []usage.Metric{usage.CPU, usage.Memory} {
		relieved := func(name usage.Metric) bool { return f.Load.Usage.Relieves(name) == resource }
		if !slices.ContainsFunc(f.Load.Lines.Metrics(), relieved) {
			return &Note{Field: "lines", Lossy: true, Text: fmt.Sprintf("%[1]s is not judged, because lines does not name it; "+
				"add %[1]s: {} to judge it by the default levels", resource)}
		}
	}
	return nil
}
