// Package tiers is the list of all end-to-end cases: which tier runs each, how
// long it takes, and which run on each release of Kubernetes. Command e2e runs
// them by it and fails if the list and what ran differ, so that no case is
// lost.
package tiers

import (
	"bufio"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Tier is the occasion on which a case runs.
type Tier string

// The tiers. All includes Test; cases that measure and assert nothing are run
// by hand.
const (
	Test    Tier = "test"
	All     Tier = "all"
	Measure Tier = "measure"
)

// includes reports whether running a tier runs the cases of another.
func (t Tier) includes(other Tier) bool { return t == other || t == All && other == Test }

// alone marks a case that no other may run at the same time as.
const alone = "alone"

// Case is a test function, or one of its subtests.
type Case struct {
	Tier Tier
	// Package is the folder within this module.
	Package string
	// Name is as `go test -v` prints it, with subtests after slashes.
	Name string
	// Seconds is the duration when it was last recorded; 0 for a subtest, which
	// its function includes.
	Seconds int
	// Alone is set if simultaneous cases would distort its measurements.
	Alone bool
}

// Function is the name of the test function.
func (c Case) Function() string {
	name, _, _ := strings.Cut(c.Name, "/")
	return name
}

// IsSubtest reports whether the case is part of another.
func (c Case) IsSubtest() bool { return c.Function() != c.Name }

//go:embed cases.txt
var list string

// Cases returns the list.
func Cases() ([]Case, error) { return Read(strings.NewReader(list)) }

// Read reads a list as Write writes it.
func Read(from io.Reader) ([]Case, error) { return read(from, "list of cases", parse) }

// read parses the fields of each line of a list that is neither empty nor a
// comment.
func read[T any](from io.Reader, name string, parse func(fields []string) (T, error)) (all []T, err error) {
	lines := bufio.NewScanner(from)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		one, err := parse(fields)
		if err != nil {
			return nil, fmt.Errorf("reading line %d of the %s: %w", n, name, err)
		}
		all = append(all, one)
	}
	return all, lines.Err()
}

func parse(fields []string) (Case, error) {
	if len(fields) < 4 || len(fields) > 5 {
		return Case{}, fmt.Errorf("%q has %d fields, want tier, seconds, package, name, alone", fields, len(fields))
	}
	c := Case{Tier: Tier(fields[0]), Package: fields[2], Name: fields[3]}
	if !slices.Contains([]Tier{Test, All, Measure}, c.Tier) {
		return c, fmt.Errorf("there is no tier %q", c.Tier)
	}
	if !c.IsSubtest() {
		var err error
		if c.Seconds, err = strconv.Atoi(fields[1]); err != nil {
			return c, fmt.Errorf("reading the seconds: %w", err)
		}
	}
	if c.Alone = len(fields) > 4; c.Alone && fields[4] != alone {
		return c, fmt.Errorf("%q is not %q", fields[4], alone)
	}
	return c, nil
}

const head = `# Every end-to-end case: its tier, of a test function how many seconds it takes, its package and its name. What
# is "alone" runs with nothing beside it. "go run ./cmd/e2e --record" brings the seconds and the subtests up to date.
`

// Write writes a list, sorted by package and name.
func Write(to io.Writer, cases []Case) error {
	cases = slices.Clone(cases)
	slices.SortFunc(cases, func(a, b Case) int {
		return slices.Compare([]string{a.Package, a.Name}, []string{b.Package, b.Name})
	})
	if _, err := io.WriteString(to, head); err != nil {
		return err
	}
	table := tabwriter.NewWriter(to, 0, 0, 1, ' ', 0)
	for _, c := range cases {
		seconds, name := strconv.Itoa(c.Seconds), c.Name
		if c.IsSubtest() {
			seconds = "-"
		}
		if c.Alone {
			name += " " + alone
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", c.Tier, seconds, c.Package, name)
	}
	return table.Flush()
}
