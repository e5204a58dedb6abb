package compat

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
)

// A mistake in a legacy document is reported with the field names of its format.
func TestLoadNamesMistakesOfAnEarlierForm(t *testing.T) {
	const file = "testdata/invalid/descheduler-v1alpha1"
	data, err := os.ReadFile(file + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(file + ".err")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Load("policy.yaml", data, kinds.All)
	if err == nil {
		t.Fatalf("Load accepted it: %+v", got)
	}
	if diff := cmp.Diff(string(want), err.Error()+"\n"); diff != "" || !policy.IsInvalid(err) {
		t.Errorf("message (-want +got):\n%s", diff)
	}
}
