package tiers

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Matrix is the tier of the core cases, which run on each release of Kubernetes. Each of
// them also belongs to another tier.
const Matrix Tier = "matrix"

// CoreCase is a test function in the matrix.
type CoreCase struct {
	// From is the oldest release of Kubernetes on which it runs, such as 1.36.
	From          string
	Package, Name string
	// Why explains why it does not run on older releases.
	Why string
}

//go:embed matrix.txt
var matrix string

// CoreCases returns the list.
func CoreCases() ([]CoreCase, error) { return readMatrix(strings.NewReader(matrix)) }

// readMatrix parses the lines that are neither empty nor comments.
func readMatrix(from io.Reader) (all []CoreCase, err error) {
	lines := bufio.NewScanner(from)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		one, err := parseCore(fields)
		if err != nil {
			return nil, fmt.Errorf("reading line %d of the matrix: %w", n, err)
		}
		all = append(all, one)
	}
	return all, lines.Err()
}

func parseCore(fields []string) (CoreCase, error) {
	if len(fields) < 3 {
		return CoreCase{}, fmt.Errorf("%q has %d fields, want release, package, name, why", fields, len(fields))
	}
	_, err := minor(fields[0])
	return CoreCase{From: fields[0], Package: fields[1], Name: fields[2], Why: strings.Join(fields[3:], " ")}, err
}

// On returns the core cases that run on a release of Kubernetes, and those that
// do not.
func On(release string, core []CoreCase, cases []Case) (run []Case, left []CoreCase, err error) {
	number, err := minor(release)
	if err != nil {
		return nil, nil, err
	}
	all := All.Of(cases)
	for _, c := range core {
		at := slices.IndexFunc(all, func(found Case) bool { return found.Package == c.Package && found.Name == c.Name })
		if at < 0 {
			return nil, nil, fmt.Errorf("the matrix has %s %s, which is no case of tier %q", c.Package, c.Name, All)
		}
		from, err := minor(c.From)
		if err != nil {
			return nil, nil, err
		}
		if number < from {
			left = append(left, c)
			continue
		}
		run = append(run, all[at])
	}
	return run, left, nil
}

// minor returns the minor version of a release, such as 36 for 1.36.
func minor(release string) (int, error) {
	text, ok := strings.CutPrefix(release, "1.")
	number, err := strconv.Atoi(text)
	if !ok || err != nil {
		return 0, fmt.Errorf("%q is no release of Kubernetes such as 1.36", release)
	}
	return number, nil
}
