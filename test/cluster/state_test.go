package cluster

import (
	"os"
	"path/filepath"
	"testing"
)

func TestStateFolderOfSomebodyElseIsRefused(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "precious")
	if err := os.WriteFile(precious, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := openState(dir); err == nil {
		t.Error("openState took a folder that no cluster made")
	}
	if _, err := os.Stat(precious); err != nil {
		t.Errorf("openState removed what was there: %v", err)
	}
	own := filepath.Join(dir, "own")
	for range 2 {
		if _, _, err := openState(own); err != nil {
			t.Errorf("openState of an own folder: %v", err)
		}
	}
}
