package main

import (
	"testing"

	"github.com/evenkeel/evenkeel/compat"
)

// Every flag that convert leaves in a Job's arguments is a flag of the new command.
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
