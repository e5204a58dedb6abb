package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every command that accepts a policy also reads policies of legacy systems, and its error names
// the wrong field of such a policy.
func TestEveryCommandReadsEarlierPolicies(t *testing.T) {
	path := filepath.Join(t.TempDir(), "earlier.yaml")
	text := "apiVersion: descheduler/v1alpha1\nkind: DeschedulerPolicy\nstrategies: {NoSuchStrategy: {enabled: true}}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, c := range newRoot().Commands() {
		flags := c.Flags()
		if flags.Lookup("policy-config-file") == nil {
			continue
		}
		asked++
		args := c.Name() + " --policy-config-file " + path
		if flags.Lookup("listen-address") != nil {
			args += " --listen-address 127.0.0.1:0"
		}
		if c.Name() == "explain" {
			args += " node n"
		}
		if _, err := execute(t, "evenkeel", args); err == nil || !strings.Contains(err.Error(), "strategies[NoSuchStrategy]") {
			t.Errorf("evenkeel %s: error %v, want one about the strategy", args, err)
		}
	}
	if asked < 8 {
		t.Errorf("only %d commands accept a policy", asked)
	}
}
