package measure

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// Module is the module's path, which Go's benchmarks print before a package's path.
const Module = "github.com/evenkeel/evenkeel"

// Series is a figure that is measured repeatedly.
type Series struct {
	// Package is relative to the module. Name is the benchmark's name without "Benchmark"
	// and without the number of processors.
	Package, Name, Unit string
}

// Figures holds the values of each series, in the order of measurement.
type Figures map[Series][]float64

// Value is a figure as written in a line, with all its digits.
type Value struct{ Number, Unit string }

// Line formats figures in Go's benchmark format.
func Line(name string, values ...Value) string {
	fields := []string{"Benchmark" + name, "1"}
	for _, v := range values {
		fields = append(fields, v.Number, v.Unit)
	}
	return strings.Join(fields, " ")
}

// processors matches what the testing package appends to a benchmark's name.
var processors = regexp.MustCompile(`-\d+$`)

// iterations matches the number that precedes a benchmark's figures.
var iterations = regexp.MustCompile(`^\d+$`)

// ParseLines reads lines in Go's benchmark format, and the package from "pkg:"
// lines. It ignores all others.
func ParseLines(from io.Reader) (Figures, error) {
	found, pkg := Figures{}, ""
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for number := 1; lines.Scan(); number++ {
		line := lines.Text()
		if path, ok := strings.CutPrefix(line, "pkg: "); ok {
			pkg = strings.TrimPrefix(strings.TrimSpace(path), Module+"/")
		}
		if err := found.add(pkg, strings.Fields(line)); err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	return found, lines.Err()
}

// add parses a line: a name, a number of iterations, then values with their units. The
// testing package prints only the name if the benchmark itself writes output.
func (f Figures) add(pkg string, fields []string) error {
	if len(fields) < 2 || !strings.HasPrefix(fields[0], "Benchmark") {
		return nil
	}
	if !iterations.MatchString(fields[1]) {
		return nil
	}
	values := fields[2:]
	if len(values)%2 != 0 {
		return fmt.Errorf("benchmark %q: %q is a value without a unit", fields[0], values[len(values)-1])
	}
	name := processors.ReplaceAllString(strings.TrimPrefix(fields[0], "Benchmark"), "")
	for i := 0; i < len(values); i += 2 {
		value, err := strconv.ParseFloat(values[i], 64)
		if err != nil {
			return fmt.Errorf("benchmark %q: %q is not a number", fields[0], values[i])
		}
		key := Series{Package: pkg, Name: name, Unit: values[i+1]}
		f[key] = append(f[key], value)
	}
	return nil
}
