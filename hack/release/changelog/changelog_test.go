package changelog

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const text = `# Changes

## [Unreleased]

### Added

- A third thing.

## [1.1.0] - 2026-03-04

A second thing.

## [1.0.0] - 2026-01-02

## [0.9.0]
One.
## [0.9.0]
Two.
`

func TestNotes(t *testing.T) {
	cases := map[string]struct{ version, want, err string }{
		"a release":               {version: "v1.1.0", want: "A second thing.\n"},
		"a pre-release":           {version: "v1.2.0-rc.1", want: "### Added\n\n- A third thing.\n"},
		"a release nobody wrote":  {version: "v2.0.0", err: `C.md: there is no section "2.0.0", want a heading "## [2.0.0] - date"; there are: Unreleased, 1.1.0, 1.0.0, 0.9.0, 0.9.0`},
		"a section without text":  {version: "v1.0.0", err: `C.md: line 13: section "1.0.0" is empty`},
		"two sections":            {version: "v0.9.0", err: `C.md: line 17: section "0.9.0" is there twice, first in line 15`},
		"no v":                    {version: "1.1.0", err: `version "1.1.0": want one such as v1.2.3, or v1.2.3-rc.1 for a pre-release`},
		"what git describe says":  {version: "5d82d5a", err: `version "5d82d5a": want one such as v1.2.3, or v1.2.3-rc.1 for a pre-release`},
		"a leading zero":          {version: "v1.01.0", err: `version "v1.01.0": want one such as v1.2.3, or v1.2.3-rc.1 for a pre-release`},
		"no version":              {err: `version "": want one such as v1.2.3, or v1.2.3-rc.1 for a pre-release`},
		"a tag of an image it is": {version: "v1.1.0+build", err: `version "v1.1.0+build": want one such as v1.2.3, or v1.2.3-rc.1 for a pre-release`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Notes("C.md", text, tc.version)
			said := ""
			if err != nil {
				said = err.Error()
			}
			if diff := cmp.Diff(tc.err, said); diff != "" {
				t.Fatalf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

// The shipped file can be used for a release, and starts with the unreleased changes.
func TestShippedChanges(t *testing.T) {
	content, err := os.ReadFile("../../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	if all := sections(string(content)); len(all) == 0 || all[0].title != unreleased {
		t.Fatalf("%d sections; the first has to be %s", len(all), unreleased)
	}
	notes, err := Notes("CHANGELOG.md", string(content), "v1.0.0-rc.1")
	if err != nil || !strings.Contains(notes, "### ") {
		t.Errorf("notes %q, %v", notes, err)
	}
}
