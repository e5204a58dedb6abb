package deploy

import (
	"os"
	"strings"
	"testing"
)

// A tag can be moved to another image, so each image that is built upon is named
// by its digest, is empty, or is an earlier stage. The digest has to be given: its
// default is none.
func TestBaseImagesAreNamedByDigest(t *testing.T) {
	text, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	stages, digests := map[string]bool{"scratch": true}, map[string]bool{}
	for line := range strings.SplitSeq(string(text), "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) < 2:
		case words[0] == "ARG" && len(stages) == 1:
			name, value, _ := strings.Cut(words[1], "=")
			if strings.HasPrefix(value, "sha256:") {
				t.Errorf("%s: the default %s gets old", name, value)
			}
			digests["${"+name+"}"] = true
		case words[0] == "FROM":
			_, digest, _ := strings.Cut(words[1], "@")
			if !stages[words[1]] && !digests[digest] {
				t.Errorf("%s: want a digest, an earlier stage or scratch", line)
			}
			stages[words[len(words)-1]] = true
		}
	}
	if len(digests) == 0 || len(stages) < 4 {
		t.Errorf("stages %v and digests %v were found", stages, digests)
	}
}
