package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evenkeel/evenkeel/scorer/plugin"
)

// Legacy plugins accept their own args, and their policy files are read directly.
func TestPluginsOfEarlierSystems(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	text := "apiVersion: scheduler.policy.crane.io/v1alpha1\nkind: DynamicSchedulerPolicy\nspec: {noSuchField: 1}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	asked, err := readLegacy("Dynamic", map[string]any{"policyConfigPath": path})
	if err != nil || asked.File != path {
		t.Fatalf("asked for %+v, error %v", asked, err)
	}
	_, err = newSide(t.Context(), plugin.SideConfig{PolicyFile: asked.File})
	if err == nil || !strings.Contains(err.Error(), "spec.noSuchField") {
		t.Errorf("error %v, want one about the field", err)
	}
}
