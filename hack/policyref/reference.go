package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/usage/kinds"
	"github.com/evenkeel/evenkeel/usage/source"
)

const head = `# Policy reference

<!-- Made from the types in policy/ by ` + "`go run ./hack/policyref`" + `; edit the comments there. -->

A policy file holds up to two YAML documents. A ` + "`DeschedulerPolicy`" + ` (` + "`descheduler/v1alpha2`" + `) says which
plugins run; it is upstream's own. A ` + "`LoadPolicy`" + ` (` + "`evenkeel.io/v1alpha1`" + `) says where usage comes from, what
hot and cool mean and how pods are moved; it is described here. Both halves of Evenkeel read the same file.

- Every field may be left out. One that is left out, or left blank, has the default that is given below; 0 and "" are values
  like any other.
- A list or mapping that is given replaces the default as a whole. Laid over defaults one by one are only: the levels of a
  metric, the lines of a node pool (over ` + "`lines`" + `), the fields of a source, and periods.
- What is not understood completely is refused, with the file, the field, the value and what is allowed.
- A *duration* has a unit, as in 90s, 5m or 1h. A *quantity* is Kubernetes' own, as in 250m or 200Mi. A *metric* is cpu,
  memory, memory.available, cpu.pressure, memory.pressure, io.pressure or a name from usage.metrics.
- A *window* is last (the newest sample), avg_5m (a mean), max_avg_1h (the highest mean of 5m) or p95_1h (a percentile, 1
  to 99), each with a time from 1m (max_avg: 10m) to 1d, written in the largest unit that holds it whole: avg_1h, not
  avg_60m.
- Percentages are 0 to 100.
`

// header begins every LoadPolicy.
const header = "apiVersion: evenkeel.io/v1alpha1\nkind: LoadPolicy\n"

// examples are the example files to append to a section.
var examples = map[reflect.Type][]string{
	reflect.TypeFor[policy.NodePool]():        {"lines"},
	reflect.TypeFor[policy.MeasuredScoring](): {"measured"},
	reflect.TypeFor[policy.Eviction]():        {"eviction"},
	reflect.TypeFor[policy.NodeSync]():        {"nodesync", "nodesync-marks"},
}

// generator writes the page section by section and collects errors.
type generator struct {
	comments comments
	dir      string
	out      bytes.Buffer
	titles   map[reflect.Type]string
	examples map[reflect.Type][]string
	errs     []error
}

// reference makes the page from the sources in dir and of the source kinds.
func reference(dir string) ([]byte, error) {
	c, err := readComments(folders(dir)...)
	if err != nil {
		return nil, err
	}
	return pageOf(c, dir)
}

// folders returns the folders of the packages policy, in dir, and calendar, and
// of the settings of sources.
func folders(dir string) []string {
	all := []string{dir, filepath.Join(dir, "calendar")}
	for _, kind := range append(source.Kinds{nil}, kinds.All...) {
		t := reflect.TypeFor[source.Description]()
		if kind != nil {
			t = reflect.TypeOf(kind).Elem()
		}
		_, folder, _ := strings.Cut(t.PkgPath(), "/evenkeel/evenkeel/")
		all = append(all, filepath.Join(dir, "..", filepath.FromSlash(folder)))
	}
	return all
}

func pageOf(c comments, dir string) ([]byte, error) {
	defaults := policy.Default(kinds.All)
	g := generator{comments: c, dir: dir, titles: map[reflect.Type]string{}, examples: maps.Clone(examples)}
	g.out.WriteString(head)
	g.section("LoadPolicy", "", reflect.ValueOf(defaults), g.blocks())
	args := policy.RealUsageLowNodeUtilizationArgs{}
	g.section(policy.RealUsageLowNodeUtilizationName, "", reflect.ValueOf(args), nil)
	return g.out.Bytes(), errors.Join(g.errs...)
}

// sourceType has the blocks of all kinds of sources.
var sourceType = policy.SourceType(kinds.All)

// blocks returns the default value of each type that belongs to one kind of
// source. It also registers the kind's example, if any; that of a kind without
// a type goes to the section of all sources.
func (g *generator) blocks() map[reflect.Type]reflect.Value {
	found := map[reflect.Type]reflect.Value{}
	for _, kind := range kinds.All {
		block, example := reflect.ValueOf(kind.Default()).Elem(), kebab(kind.Describe().Name)
		follows := sourceType
		if block.NumField() > 0 {
			found[block.Type()], follows = block, block.Type()
		}
		if _, err := os.Stat(g.exampleFile(example)); err == nil {
			g.examples[follows] = append(g.examples[follows], example)
		}
	}
	return found
}

// child is a section that a table refers to.
type child struct {
	title string
	value reflect.Value
}

// section writes the table of a struct and then the sections of its structs.
// prefix is the path of its fields.
func (g *generator) section(title, prefix string, value reflect.Value, known map[reflect.Type]reflect.Value) {
	t := value.Type()
	g.titles[t] = title
	level := "##"
	if strings.Count(prefix, ".") > 1 {
		level = "###"
	}
	text, err := g.comments.of(typeKey(t), strings.TrimPrefix(path.Ext(typeKey(t)), "."), title)
	if err != nil {
		g.errs = append(g.errs, err)
	}
	fmt.Fprintf(&g.out, "\n%s %s\n\n%s\n\n", level, code(title, prefix), text)
	g.out.WriteString("| Field | Type | Default | |\n|---|---|---|---|\n")
	children := g.rows(prefix, value, known)
	if t == reflect.TypeFor[policy.MetricLines]() {
		g.lineDefaults()
	}
	for _, name := range g.examples[t] {
		g.example(name)
	}
	for _, c := range children {
		g.section(c.title, c.title+".", c.value, known)
	}
}

// rows writes one row per field, those of embedded structs included, and
// returns the sections that they refer to.
func (g *generator) rows(prefix string, value reflect.Value, known map[reflect.Type]reflect.Value) []child {
	var children []child
	for field, v := range value.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous {
			if field.Type.PkgPath() == value.Type().PkgPath() {
				children = append(children, g.rows(prefix, v, known)...)
			}
			continue
		}
		text, err := g.comments.of(typeKey(value.Type())+"."+field.Name, field.Name, name)
		if err != nil {
			g.errs = append(g.errs, err)
		}
		inner, path := element(field.Type, prefix+name)
		if fields(inner) && g.titles[inner] == "" {
			g.titles[inner] = path
			children = append(children, child{path, zeroOr(inner, v, known)})
		}
		text, required := strings.CutSuffix(text, " Required.")
		fallback := shown(v)
		if required {
			fallback = "required"
		}
		fmt.Fprintf(&g.out, "| `%s` | %s | %s | %s |\n", name, g.typeName(field.Type), fallback, text)
	}
	return children
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

// zeroOr returns the default value of a struct that a field holds, or its zero
// value.
func zeroOr(t reflect.Type, field reflect.Value, known map[reflect.Type]reflect.Value) reflect.Value {
	if field.Type() == t {
		return field
	}
	if value, ok := known[t]; ok {
		return value
	}
	return reflect.Zero(t)
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
