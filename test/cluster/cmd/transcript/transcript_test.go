package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/test/cluster"
)

var example = written{Release: "v1.36.3", Nodes: 2, Pods: 3, Steps: []step{
	{Title: "Build", Before: "With Go.", Typed: "make build", Took: 12340 * time.Millisecond},
	{
		Title: "Look", Before: "One reading.", Typed: "bin/evenkeel top", Output: "node-0  hot now  \nnode-1\n\n", Took: 2 * time.Second,
		AtMost: 15 * time.Second, What: "hot nodes",
	},
	{
		Title: "Plan", Before: "By this policy.", File: "policy.yaml", Content: "kind: LoadPolicy\n", Typed: "bin/evenkeel plan", Output: "1 move",
		Took: 150 * time.Second, AtMost: 2 * time.Minute, What: "a plan",
	},
}}

const exampleDocument = "# Transcript of a first contact\n" + `
Written by ` + "`make transcript`" + `, on a local cluster of Kubernetes v1.36.3 with 2 nodes and 3 pods: what was typed, what
came out, and how long it took. Do not edit it: run that command again.

| | took | at most |
|---|---|---|
| hot nodes | 2s | 15s |
| a plan | 2m30s | 2m0s |

## Build

With Go.

~~~console
$ make build
~~~

It took 12.3s.

## Look

One reading.

~~~console
$ bin/evenkeel top
node-0  hot now
node-1
~~~

It took 2s.

## Plan

By this policy.

` + "`policy.yaml`:" + `

~~~yaml
kind: LoadPolicy
~~~

~~~console
$ bin/evenkeel plan
1 move
~~~

It took 2m30s.
`

func TestMarkdown(t *testing.T) {
	want := strings.ReplaceAll(exampleDocument, "~~~", "```")
	if diff := cmp.Diff(want, example.markdown()); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

// Steps that took too long are named, and nothing else; without a limit no step
// takes too long.
func TestLate(t *testing.T) {
	if err := example.late(); err == nil || err.Error() != "a plan took 2m30s, at most 2m0s" {
		t.Errorf("got %v", err)
	}
	in := written{Steps: example.Steps[:2]}
	if err := in.late(); err != nil {
		t.Errorf("in time, and got %v", err)
	}
	both := written{Steps: []step{{Took: 16 * time.Second, AtMost: hotWithin, What: "hot nodes"}, example.Steps[2]}}
	if err := both.late(); err == nil || strings.Count(err.Error(), "at most") != 2 {
		t.Errorf("got %v, want both", err)
	}
}

func TestFold(t *testing.T) {
	long := strings.Repeat("line\n", mostLines)
	for name, tc := range map[string]struct{ output, want string }{
		"nothing":        {"\n\n", ""},
		"without an end": {"a  \nb", "a\nb\n"},
		"just enough":    {long, long},
		"too much":       {long + "more\nand more\n", long + "... and 2 more lines\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, fold(tc.output)); diff != "" {
				t.Errorf("folded (-want +got):\n%s", diff)
			}
		})
	}
}

// A node is shown if a line contains its whole name and the wanted word.
func TestRowsOf(t *testing.T) {
	const output = "2 nodes: 1 hot now\nnode-1  97%  hot now\nnode-12: cool now\n"
	for name, tc := range map[string]struct {
		nodes, words []string
		missing      int
	}{
		"all":              {nodes: []string{"node-1", "node-12"}},
		"hot":              {nodes: []string{"node-1"}, words: []string{"hot"}},
		"one is not hot":   {nodes: []string{"node-1", "node-12"}, words: []string{"hot"}, missing: 1},
		"none is there":    {nodes: []string{"node", "node-2"}, missing: 2},
		"either of words":  {nodes: []string{"node-12"}, words: []string{"hot", "cool"}},
		"nothing is asked": {},
	} {
		t.Run(name, func(t *testing.T) {
			got := 0
			if err := rowsOf(output, tc.nodes, tc.words...); err != nil {
				got = strings.Count(err.Error(), "no line of the output has")
			}
			if got != tc.missing {
				t.Errorf("%d are missing, want %d", got, tc.missing)
			}
		})
	}
}

// Typed commands run in the user's folder with the kubeconfig, and their output
// is shown and kept, whether or not they succeed.
func TestTypist(t *testing.T) {
	var echo bytes.Buffer
	y := typist{dir: t.TempDir(), kubeconfig: "a-kubeconfig", echo: &echo}
	output, err := y.run(t.Context(), `echo "$KUBECONFIG in $PWD"; echo said >&2`)
	want := "a-kubeconfig in " + y.dir + "\nsaid\n"
	if err != nil || output != want || !strings.HasPrefix(echo.String(), "\n$ echo") || !strings.HasSuffix(echo.String(), want) {
		t.Errorf("printed %q, shown %q, %v", output, echo.String(), err)
	}
	if output, err = y.run(t.Context(), "echo before; exit 3"); err == nil || output != "before\n" {
		t.Errorf("printed %q, %v", output, err)
	}
}

// A background command ends when it is stopped, and may be stopped again. If it
// ends on its own, that is detected.
func TestStart(t *testing.T) {
	y := typist{dir: t.TempDir(), echo: new(bytes.Buffer)}
	log := filepath.Join(t.TempDir(), "serve.log")
	p, err := y.start(t.Context(), "echo begun; sleep 600", log)
	if err != nil {
		t.Fatal(err)
	}
	wait(t, func() bool { return readLog(t, log) == "begun\n" })
	if err := p.failure(); err != nil {
		t.Errorf("it runs, and %v", err)
	}
	for range 2 {
		if err := p.stop(); err != nil {
			t.Errorf("stopping: %v", err)
		}
	}
	for typed, want := range map[string]string{"exit 2": "exit status 2", "true": "with exit code 0"} {
		if p, err = y.start(t.Context(), typed, log); err != nil {
			t.Fatal(err)
		}
		wait(t, func() bool { return p.failure() != nil })
		if err := p.failure(); !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", typed, err, want)
		}
	}
}

func readLog(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func wait(t *testing.T, until func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !until(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not within 10 s")
		}
	}
}

func TestEvictions(t *testing.T) {
	const log = "I1 \"Planned\" moves=2\nI2 \"Evicted pod\" pod=\"shop/a\"\nI3 \"Landed\"\nI4 \"Evicted pod\" pod=\"shop/b\"\n"
	if diff := cmp.Diff("I2 \"Evicted pod\" pod=\"shop/a\"\nI4 \"Evicted pod\" pod=\"shop/b\"\n", evictions(log)); diff != "" {
		t.Errorf("evictions (-want +got):\n%s", diff)
	}
}

func TestHottest(t *testing.T) {
	usage := map[string]cluster.NodeLoad{"a": {CPUPercent: 12}, "b": {CPUPercent: 96.6}, "c": {}}
	if got := hottest(usage); got != 96.6 {
		t.Errorf("%v, want 96.6", got)
	}
}

func TestFlags(t *testing.T) {
	f := flags{settle: -time.Second}
	if err := f.complete("root"); err == nil || err.Error() != "--settle: -1s is negative" {
		t.Errorf("got %v", err)
	}
	f = flags{}
	if err := f.complete("root"); err != nil || f.out != filepath.Join("root", "docs", "transcript.md") {
		t.Errorf("writes %q, %v", f.out, err)
	}
}
