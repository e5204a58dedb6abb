package main

import (
	"testing"

	"github.com/evenkeel/evenkeel/compat"
)

// What convert leaves in a Job's arguments has to be a flag of the command that
// it puts instead of the earlier one.
func TestConvertLeavesOnlyFlagsThatRunHas(t *testing.T) {
	run, _, err := newRoot().Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range compat.RunFlags {
		if run.Flags().Lookup(name) == nil && run.InheritedFlags().Lookup(name) == nil {
			t.Errorf("evenkeel run has no flag --%s", name)
		}
	}
}
