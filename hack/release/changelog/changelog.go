// Package changelog extracts the notes of a release from CHANGELOG.md.
package changelog

import (
	"fmt"
	"regexp"
	"strings"
)

// versions matches the versions that may be released: semantic versions with a "v".
var versions = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z][0-9A-Za-z.-]*)?$`)

// unreleased is the heading of the section for unreleased changes.
const unreleased = "Unreleased"

// Check returns an error unless the version may be released.
func Check(version string) error {
	if !versions.MatchString(version) {
		return fmt.Errorf("version %q: want one such as v1.2.3, or v1.2.3-rc.1 for a pre-release", version)
	}
	return nil
}

// section is a part of the changelog that begins with a heading such as "## [1.2.3] -
// 2027-01-31".
type section struct {
	title string
	line  int
	text  strings.Builder
}

func sections(text string) []*section {
	var all []*section
	for n, line := range strings.Split(text, "\n") {
		heading, begins := strings.CutPrefix(line, "## ")
		switch {
		case begins:
			title := strings.Trim(strings.Fields(heading + " -")[0], "[]")
			all = append(all, &section{title: title, line: n + 1})
		case len(all) > 0:
			all[len(all)-1].text.WriteString(line + "\n")
		}
	}
	return all
}

// Notes returns the text of a version's section; for a pre-release, that of Unreleased.
// name is the file name used in errors.
func Notes(name, text, version string) (string, error) {
	if err := Check(version); err != nil {
		return "", err
	}
	want := strings.TrimPrefix(version, "v")
	if strings.Contains(want, "-") {
		want = unreleased
	}
	var found *section
	var titles []string
	for _, s := range sections(text) {
		titles = append(titles, s.title)
		if s.title != want {
			continue
		}
		if found != nil {
			return "", fmt.Errorf("%s: line %d: section %q is there twice, first in line %d", name, s.line, want, found.line)
		}
		found = s
	}
	if found == nil {
		return "", fmt.Errorf("%s: there is no section %q, want a heading \"## [%s] - date\"; there are: %s", name, want, want, strings.Join(titles, ", "))
	}
	notes := strings.TrimSpace(found.text.String())
	if notes == "" {
		return "", fmt.Errorf("%s: line %d: section %q is empty", name, found.line, want)
	}
	return notes + "\n", nil
}
