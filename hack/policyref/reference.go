package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/strategies/registry"
)

const head = `# Policy reference

<!-- Made from the types in policy/ by ` + "`go run ./hack/policyref`" + `; edit the comments there. -->

A policy file contains up to two YAML documents. A ` + "`DeschedulerPolicy`" + ` (` + "`descheduler/v1alpha2`" + `), which is
upstream's own format, configures which plugins run. A ` + "`LoadPolicy`" + ` (` + "`evenkeel.io/v1alpha1`" + `) configures where usage
comes from, what counts as hot and cool, and how pods are moved; this page describes it. Both halves of Evenkeel read the same file.

- Every field is optional unless it is marked as required. In both documents a field that is blank or null counts as
  omitted: ` + "`memory:` sets no lines, whereas `memory: {}` does" + `. 0 and "" are values like any other.
- A list or mapping replaces the default as a whole. Only these are merged with their defaults: the levels of a metric, the
  lines of a node pool (over ` + "`lines`" + `), the fields of a source, and periods.
- A file without a ` + "`DeschedulerPolicy`" + ` runs RealUsageLowNodeUtilization with its defaults (see eviction.defaultProfile).
- [examples](../examples) contains short policies to start from; [policy.schema.json](policy.schema.json) is the schema for editors.
- A setting that is no longer on this page still works for two more versions. ` + "`evenkeel lint`" + ` and the log warn about it, and state where it is set and why it will be removed.
- Unknown fields and invalid values are rejected with an error that names the file, the field, the value and what is allowed.
- A *duration* has a unit, as in 90s, 5m or 1h. A *quantity* is a Kubernetes quantity, as in 250m or 200Mi. A *metric* is cpu,
  memory, memory.available, cpu.pressure, memory.pressure, io.pressure, cpu.contention or a name from usage.metrics.
  cpu.contention is how long a node's containers wait for a CPU that other containers use
  ([details](decisions.md#contention-is-what-unthrottled-containers-wait)).
- A *window* is last (the newest sample), avg_5m (a mean), max_avg_1h (the highest 5m mean) or p95_1h (a percentile, 1 to
  99), over a time from 1m (max_avg: 10m) to 1d. Write the time in the largest unit that expresses it as a whole number:
  avg_1h, not avg_60m.
- Percentages range from 0 to 100.
`

// header is the beginning of every LoadPolicy.
const header = "apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\n"

// examples maps types to the example files to append to their sections.
var examples = map[reflect.Type][]string{
	reflect.TypeFor[policy.NodePool]():        {"lines"},
	reflect.TypeFor[policy.MeasuredScoring](): {"measured"},
	reflect.TypeFor[policy.Eviction]():        {"eviction"},
	reflect.TypeFor[policy.NodeSync]():        {"nodesync", "nodesync-marks"},
}

// generator writes the page section by section and collects errors.
type generator struct {
	*walker

	dir      string
	out      bytes.Buffer
	examples map[reflect.Type][]string
	errs     []error
}

// reference makes the page from the sources in dir and those of the source kinds.
func reference(dir string) ([]byte, error) {
	c, err := readComments(folders(dir)...)
	if err != nil {
		return nil, err
	}
	return pageOf(c, dir)
}

// folders returns the folders with the types of the policy: dir, with package policy, its
// calendar, and the packages of source kinds and strategies.
func folders(dir string) []string {
	all, types := []string{dir, filepath.Join(dir, "calendar")}, []reflect.Type{reflect.TypeFor[source.Description]()}
	for _, kind := range kinds.All {
		types = append(types, reflect.TypeOf(kind).Elem())
	}
	for _, strategy := range registry.All {
		types = append(types, reflect.TypeOf(strategy).Elem())
	}
	for _, t := range types {
		_, folder, _ := strings.Cut(t.PkgPath(), "/evenkeel/evenkeel/")
		all = append(all, filepath.Join(dir, "..", filepath.FromSlash(folder)))
	}
	return all
}

func pageOf(c comments, dir string) ([]byte, error) {
	w, err := walk(c)
	g := generator{walker: w, dir: dir, examples: maps.Clone(examples), errs: []error{err}}
	g.findExamples()
	g.out.WriteString(head)
	for _, s := range w.sections {
		if !s.retired && s.value.Type() != reflect.TypeFor[policy.Levels]() {
			g.section(s)
		}
	}
	return g.out.Bytes(), errors.Join(g.errs...)
}

// findExamples registers the example of each kind of source, if there is one. The example
// of a kind without a type is added to the section of all sources.
func (g *generator) findExamples() {
	for _, kind := range kinds.All {
		example, follows := kebab(kind.Describe().Name), reflect.TypeOf(kind).Elem()
		if _, own := g.of[follows]; !own {
			follows = sourceType
		}
		if _, err := os.Stat(g.exampleFile(example)); err == nil {
			g.examples[follows] = append(g.examples[follows], example)
		}
	}
}

// section writes the table of a struct.
func (g *generator) section(s *section) {
	t := s.value.Type()
	level := "##"
	if strings.Count(s.prefix, ".") > 1 {
		level = "###"
	}
	fmt.Fprintf(&g.out, "\n%s %s\n\n%s\n\n", level, code(s.title, s.prefix), markdown(s.text, s.title))
	g.out.WriteString("| Field | Type | Default | |\n|---|---|---|---|\n")
	for _, e := range s.entries {
		if e.retired != "" {
			continue
		}
		fallback := shown(e.value)
		if e.required {
			fallback = "required"
		}
		fmt.Fprintf(&g.out, "| `%s` | %s | %s | %s |\n", e.name, g.typeName(e.of), fallback, markdown(e.text, e.name))
	}
	if t == reflect.TypeFor[policy.MetricLines]() {
		g.lineDefaults()
	}
	for _, name := range g.examples[t] {
		g.example(name)
	}
}

// lineDefaults writes the default levels of cpu and memory.
func (g *generator) lineDefaults() {
	g.out.WriteString("\nDefaults of the levels:\n\n| | low | reject | evict | leave |\n|---|---|---|---|---|\n")
	for _, deviation := range []bool{false, true} {
		text := fmt.Sprintf("%slines: {cpu: {deviation: %v}, memory: {deviation: %v}}\n", header, deviation, deviation)
		file, err := policy.Load("lines", []byte(text), kinds.All)
		if err != nil {
			g.errs = append(g.errs, fmt.Errorf("loading the defaults of lines: %w", err))
			return
		}
		for _, name := range file.Load.Lines.Metrics() {
			title, l := string(name), file.Load.Lines[name]
			if deviation {
				title += " with deviation"
			}
			fmt.Fprintf(&g.out, "| %s | %v | %v | %v | %v |\n", title, *l.Low, *l.Reject, *l.Evict, *l.Leave)
		}
	}
}

// exampleFile returns the path of an example.
func (g *generator) exampleFile(name string) string {
	return filepath.Join(g.dir, "testdata", "examples", name+".yaml")
}

func (g *generator) example(name string) {
	data, err := os.ReadFile(g.exampleFile(name))
	if err != nil {
		g.errs = append(g.errs, fmt.Errorf("reading an example: %w", err))
		return
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	body := slices.IndexFunc(lines, func(line string) bool { return !strings.HasPrefix(line, "#") })
	words := make([]string, body)
	for i, line := range lines[:body] {
		words[i] = strings.TrimSpace(strings.TrimPrefix(line, "#"))
	}
	fmt.Fprintf(&g.out, "\nExample: %s\n\n```yaml\n%s\n```\n", strings.Join(words, "\n"), strings.Join(lines[body:], "\n"))
}
