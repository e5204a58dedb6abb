// Package build compiles programs of a checkout for any platform. The same commit,
// compiled by the same version of Go, results in the same bytes in every folder and on
// every machine.
package build

import (
	"fmt"
	"slices"
	"strings"
)

// Platform is an operating system and an architecture, with Go's names.
type Platform struct{ OS, Arch string }

// String formats the platform as users write it, such as linux/amd64.
func (p Platform) String() string { return p.OS + "/" + p.Arch }

// Platforms parses a comma-separated list. Each platform may be given once and must be
// allowed.
func Platforms(list string, allowed []Platform) ([]Platform, error) {
	var platforms []Platform
	for word := range strings.SplitSeq(list, ",") {
		system, arch, _ := strings.Cut(word, "/")
		p := Platform{OS: system, Arch: arch}
		if !slices.Contains(allowed, p) {
			return nil, fmt.Errorf("platform %q: allowed are %s", word, join(allowed))
		}
		if slices.Contains(platforms, p) {
			return nil, fmt.Errorf("platform %q is given twice", word)
		}
		platforms = append(platforms, p)
	}
	return platforms, nil
}

func join(platforms []Platform) string {
	words := make([]string, len(platforms))
	for i, p := range platforms {
		words[i] = p.String()
	}
	return strings.Join(words, ", ")
}
