package arch

import (
	"os"
	"strings"
	"testing"
)

// earlierSystems are words that belong to earlier systems alone.
var earlierSystems = []string{
	"crane-scheduler", "CpuRealUsage", "descheduler/v1alpha1", "dynamic-scheduler", "dynamicScheduler", "kube-scheduler-extender", "MemRealUsage",
}

// stillThere runs in clusters of today: a usage source reads its exporter.
const stillThere = "crane-scheduler-plus"

// Nothing outside its wing names an earlier system, not even a comment.
func TestEarlierSystemsLiveInOneWing(t *testing.T) {
	wing := 0
	for _, pkg := range packages(t) {
		for _, file := range pkg.files {
			name := pkg.position(file).Filename
			content, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.ToLower(strings.ReplaceAll(string(content), stillThere, ""))
			for _, word := range earlierSystems {
				switch named := strings.Contains(text, strings.ToLower(word)); {
				case named && within(pkg.room, "compat"):
					wing++
				case named:
					t.Errorf("%s names %s, which only compat may know of", name, word)
				}
			}
		}
	}
	if wing == 0 {
		t.Error("nobody names an earlier system: are these still the words?")
	}
}
