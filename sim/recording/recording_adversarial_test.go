package recording

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// Every mistake is reported with its line.
func TestHostileRecordings(t *testing.T) {
	const (
		node     = `{"node":{"id":0,"name":"a","ready":true,"allocatable":{"cpu":"8","memory":"32Gi"}}}`
		template = `{"template":{"id":0,"namespace":"s","ownerKind":"ReplicaSet","ownerName":"w"}}`
		pod      = `{"pod":{"id":0,"template":0,"name":"w-1"}}`
		header   = `{"header":{"version":1,"start":"2026-03-02T09:30:00Z","intervalSeconds":300}}`
		first    = `{"reading":{"number":0,"came":[0,0],"pods":[0,1,1]}}`
	)
	for name, tc := range map[string]struct{ text, want string }{
		"nothing":                 {"", "line 1: the recording is empty"},
		"a table":                 {"id,0,1\na,1,2\n", "line 1: invalid character"},
		"text":                    {"hello\n", "line 1: "},
		"no header":               {node + "\n", "line 1: no header"},
		"another version":         {`{"header":{"version":2,"start":"2026-03-02T09:30:00Z","intervalSeconds":300}}` + "\n", "line 1: version 2"},
		"no interval":             {`{"header":{"version":1,"start":"2026-03-02T09:30:00Z"}}` + "\n", "line 1: an interval of 0"},
		"an endless interval":     {`{"header":{"version":1,"start":"2026-03-02T09:30:00Z","intervalSeconds":9000000000000}}` + "\n", "line 1: "},
		"a header alone":          {header + "\n", "ends without a reading"},
		"two headers":             {header + "\n" + header + "\n", "line 2: a second header"},
		"a blank line":            {header + "\n\n", "line 2: not a complete JSON object"},
		"half an object":          {header + "\n{\"node\":\n", "line 2: not a complete JSON object"},
		"two objects":             {header + "\n" + node + node + "\n", "line 2: more than one"},
		"nothing in it":           {header + "\n{}\n", "line 2: 0 of node"},
		"null":                    {header + "\nnull\n", "line 2: 0 of node"},
		"two in one":              {header + "\n" + strings.Replace(node, `{"node"`, `{"pod":{"id":0,"template":0,"name":"p"},"node"`, 1) + "\n", "line 2: 2 of node"},
		"an unknown field":        {header + "\n{\"planet\":{}}\n", `line 2: json: unknown field "planet"`},
		"a node out of order":     {header + "\n" + strings.Replace(node, `"id":0`, `"id":7`, 1) + "\n", "line 2: node 7 follows on 0"},
		"a node twice":            {header + "\n" + node + "\n" + strings.Replace(node, `"id":0`, `"id":1`, 1) + "\n", `line 3: node "a" is listed twice`},
		"a node without a name":   {header + "\n" + strings.Replace(node, `"a"`, `""`, 1) + "\n", "line 2: node 0 has no name"},
		"a node without CPU":      {header + "\n" + strings.Replace(node, `"cpu":"8",`, "", 1) + "\n", "line 2: node \"a\": 0 of cpu"},
		"a node of less than no":  {header + "\n" + strings.Replace(node, `"8"`, `"-8"`, 1) + "\n", "line 2: node \"a\": -8 of cpu"},
		"a node of 1e30 cores":    {header + "\n" + strings.Replace(node, `"8"`, `"1e30"`, 1) + "\n", "line 2: node \"a\""},
		"an amount that is none":  {header + "\n" + strings.Replace(node, `"8"`, `"many"`, 1) + "\n", "line 2: "},
		"an amount of hours":      {header + "\n" + strings.Replace(node, `"8"`, `"1e-99999999"`, 1) + "\n", `line 2: amount of "cpu": 1e-99999999: too long: at most 64`},
		"hours, then another":     {header + "\n" + strings.Replace(node, `"allocatable"`, `"Allocatable":{"cpu":"1e-99999999"},"allocatable"`, 1) + "\n", `line 2: amount of "cpu"`},
		"a number of hours":       {header + "\n" + strings.Replace(node, `"8"`, `1e-99999999`, 1) + "\n", `line 2: amount of "cpu"`},
		"hours of capacity":       {header + "\n" + strings.Replace(node, `"ready"`, `"capacity":{"x":"1e-99999999"},"ready"`, 1) + "\n", `line 2: amount of "x"`},
		"a request of hours":      {header + "\n" + strings.Replace(template, `"namespace"`, `"requests":{"cpu":"1e-99999999"},"namespace"`, 1) + "\n", `line 2: amount of "cpu"`},
		"a limit of hours":        {header + "\n" + strings.Replace(template, `"namespace"`, `"limits":{"cpu":"1E-99999999"},"namespace"`, 1) + "\n", `line 2: amount of "cpu"`},
		"a pod of no template":    {header + "\n" + pod + "\n", "line 2: pod 0: template 0 is unknown"},
		"a reason that is none":   {header + "\n" + strings.Replace(template, `"namespace"`, `"stays":"Lazy","namespace"`, 1) + "\n", `line 2: template 0: stays is "Lazy"`},
		"a selector that is none": {header + "\n" + strings.Replace(template, `"namespace"`, `"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"z","labelSelector":{"matchExpressions":[{"key":"a","operator":"Like"}]}}]}},"namespace"`, 1) + "\n", "line 2: template 0: term 0"},
		"a node selector of none": {header + "\n" + strings.Replace(template, `"namespace"`, `"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Like"}]}]}}},"namespace"`, 1) + "\n", "line 2: template 0: required node affinity"},
		"a spread of nothing":     {header + "\n" + strings.Replace(template, `"namespace"`, `"topologySpreadConstraints":[{"topologyKey":"z","maxSkew":0,"whenUnsatisfiable":"DoNotSchedule"}],"namespace"`, 1) + "\n", "line 2: template 0: topologySpreadConstraints[0]"},
		"a request of less":       {header + "\n" + strings.Replace(template, `"namespace"`, `"requests":{"cpu":"-1"},"namespace"`, 1) + "\n", `line 2: template 0: -1 of "cpu"`},
	} {
		t.Run(name, func(t *testing.T) { wantError(t, tc.text, tc.want) })
	}
	sound := header + "\n" + node + "\n" + template + "\n" + pod + "\n"
	if _, err := Read(strings.NewReader(sound + first + "\n")); err != nil {
		t.Fatalf("a sound one: %v", err)
	}
	for name, tc := range map[string]struct{ reading, want string }{
		"not the first":          {`{"number":3}`, "reading 3 follows on -1"},
		"of a negative number":   {`{"number":-1}`, "reading -1 follows"},
		"without a pod":          {`{"number":0}`, "1 pods were announced but did not come"},
		"of an unknown pod":      {`{"number":0,"came":[9,0]}`, "came: pod 9 is unknown"},
		"on an unknown node":     {`{"number":0,"came":[0,4]}`, "node 4 is unknown"},
		"of a pod twice":         {`{"number":0,"came":[0,0,0,0]}`, "pod 0 came before"},
		"of half a pair":         {`{"number":0,"came":[0]}`, "pairs of a pod and a node"},
		"of half a triple":       {`{"number":0,"came":[0,0],"pods":[0,1]}`, "pods: must be triples"},
		"of what nobody told of": {`{"number":0,"came":[0,0],"pods":[1,1,1]}`, "pods: 1 is unknown"},
		"of a negative pod":      {`{"number":0,"came":[0,0],"pods":[-1,1,1]}`, "pods: -1 is unknown"},
		"of one pod twice":       {`{"number":0,"came":[0,0],"pods":[0,1,1,0,1,1]}`, "pods: 0 is listed twice"},
		"of negative usage":      {`{"number":0,"came":[0,0],"pods":[0,-1,1]}`, "0 uses -1 milli-cores"},
		"of usage without end":   {`{"number":0,"came":[0,0],"pods":[0,1,9000000000000000000]}`, "pods: 0 uses"},
		"of usage that is none":  {`{"number":0,"came":[0,0],"pods":[0,NaN,1]}`, "invalid character"},
		"of parts":               {`{"number":0,"came":[0,0],"pods":[0,1.5,1]}`, "line 5: json: cannot unmarshal number 1.5"},
		"of an unknown node":     {`{"number":0,"came":[0,0],"nodes":[1,1,1]}`, "nodes: 1 is unknown"},
		"of one that goes":       {`{"number":0,"came":[0,0],"gone":[0]}`, "gone: pod 0 comes in the same reading"},
		"of a ghost":             {`{"number":0,"came":[0,0],"gone":[5]}`, "gone: pod 5 is unknown"},
	} {
		t.Run("a reading "+name, func(t *testing.T) { wantError(t, sound+`{"reading":`+tc.reading+"}\n", "line 5: ", tc.want) })
	}
	for name, tc := range map[string]struct{ reading, want string }{
		"of the same number": {`{"number":0}`, "reading 0 follows on 0"},
		"after a century":    {`{"number":9999999}`, "reading 9999999 follows on 0"},
		"of one that went":   {`{"number":1,"gone":[0],"pods":[0,1,1]}`, "pods: 0 is unknown"},
		"of two farewells":   {`{"number":1,"gone":[0,0]}`, "pod 0 is gone already"},
	} {
		t.Run("a second reading "+name, func(t *testing.T) {
			wantError(t, sound+first+"\n"+`{"reading":`+tc.reading+"}\n", "line 6: ", tc.want)
		})
	}
}

func wantError(t *testing.T, text string, want ...string) {
	t.Helper()
	rec, err := Read(strings.NewReader(text))
	if err == nil {
		t.Fatalf("taken: %+v", rec)
	}
	for _, part := range want {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q, want %q in it", err, part)
		}
	}
}

// A gap before a known value costs memory, so gaps are bounded.
func TestGapsAreBounded(t *testing.T) {
	d := taker{out: &Recording{Nodes: []NodeSeries{{}}}, values: maxValues - 10}
	if err := d.used(10, []int64{0, 1, 1}, d.nodeSeries); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("error %v", err)
	}
}

// Long lists of short values are rejected before they take memory, even in a line that starts like
// a reading. Only readings may be long.
func TestLongListsAreRefused(t *testing.T) {
	const header = `{"header":{"version":1,"start":"2026-03-02T09:30:00Z","intervalSeconds":300}}` + "\n"
	list := "[" + strings.Repeat("{},", 1_000_000) + "{}]"
	terms := func(of, terms string) string {
		return `{"template":{"id":0,"namespace":"s","affinity":{"` + of + `":{"` + terms + `DuringSchedulingIgnoredDuringExecution":` + list + `}}}}`
	}
	for name, tc := range map[string]struct{ line, want string }{
		"tolerations": {`{"template":{"id":0,"namespace":"s","tolerations":` + list + `}}`, "must be at most"},
		"ports":       {`{"template":{"id":0,"namespace":"s","ports":` + list + `}}`, "must be at most"},
		"spread":      {`{"template":{"id":0,"namespace":"s","topologySpreadConstraints":` + list + `}}`, "must be at most"},
		"preferred":   {terms("podAffinity", "preferred"), "must be at most"},
		"nodes":       {terms("nodeAffinity", "preferred"), "must be at most"},
		"taints":      {`{"node":{"id":0,"name":"a","taints":` + list + `}}`, "must be at most"},
		"a name":      {`{"pod":{"id":0,"name":"` + strings.Repeat("x", 3<<20) + `"}}`, "must be at most"},
		"a reading":   {`{"reading":{"number":0},"template":{"id":0,"namespace":"s","tolerations":` + list + `}}`, `unknown field "template"`},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		wantError(t, header+tc.line+"\n", "line 2: ", tc.want)
		if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > 48<<20 {
			t.Errorf("%s: %d MB for %d", name, (after.TotalAlloc-before.TotalAlloc)>>20, len(tc.line)>>20)
		}
	}
	d := decoder{begun: true, kept: maxKept - 10, taker: taker{out: &Recording{}, named: map[string]bool{}}}
	if err := d.take([]byte(`{"template":{"id":0,"namespace":"s","tolerations":[{},{},{},{},{}]}}`)); err == nil || !strings.Contains(err.Error(), "in all nodes and templates") {
		t.Errorf("error %v", err)
	}
}

// The recording that a Writer makes of a large cluster can be read, and a pod that is too large to
// be read does not corrupt it.
func TestLargeClustersCanBeRead(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{Start: start, IntervalSeconds: 300}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const nodes, pods = 15_000, 30_000
	var listed []NodeReading
	for i := range nodes {
		listed = append(listed, NodeReading{aNode(fmt.Sprint("n", i)), uses(1000, gib)})
	}
	large := aPod("large", "n0", "", "")
	large.Spec.Tolerations = make([]v1.Toleration, maxObjectValues)
	running := []PodReading{{large, uses(1, gib)}}
	for i := range pods {
		running = append(running, PodReading{aPod(fmt.Sprint("p", i), fmt.Sprint("n", i%nodes), "ReplicaSet", "web"), uses(100, gib)})
	}
	for number := range 2 {
		if err := w.Reading(number, listed, running); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	rec, err := Read(&out)
	if err != nil {
		t.Fatal(err)
	}
	if len(rec.Nodes) != nodes || len(rec.Pods) != pods || rec.Readings != 2 || len(rec.Pods[pods-1].Used.CPU) != 2 {
		t.Errorf("%d nodes, %d pods, %d readings", len(rec.Nodes), len(rec.Pods), rec.Readings)
	}
}

// A corrupted file is not mistaken for a truncated one.
func TestDamagedFile(t *testing.T) {
	packed := write(t, nil)
	packed[len(packed)-5] ^= 1 // part of the checksum
	if rec, err := Read(bytes.NewReader(packed)); err == nil || !strings.Contains(err.Error(), "line ") {
		t.Errorf("taken: %+v, %v", rec, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(write(f, nil))
	f.Add([]byte(text(f, write(f, NewHasher([]byte("s"))))))
	f.Add([]byte(replaced(f, 3, `{"node":{"id":1,"name":"b","ready":true,"allocatable":{"cpu":"1","memory":"1"}}}`)))
	f.Fuzz(func(t *testing.T, content []byte) {
		rec, err := Read(bytes.NewReader(content))
		if err != nil {
			if !strings.HasPrefix(err.Error(), "line ") {
				t.Errorf("error without a line: %v", err)
			}
			return
		}
		if rec.Readings < 1 || rec.AtFirst > len(rec.Nodes) {
			t.Errorf("%d readings, %d of %d nodes at first", rec.Readings, rec.AtFirst, len(rec.Nodes))
		}
		for i := range rec.Pods {
			p := &rec.Pods[i]
			if p.Node >= len(rec.Nodes) || p.Template >= len(rec.Templates) || p.Until > 0 && p.Until <= p.From || p.From >= rec.Readings {
				t.Errorf("pod %d: %+v", i, p)
			}
		}
	})
}
