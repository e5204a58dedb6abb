package main

import (
	"bytes"
	"os"
	"regexp"
	"runtime"
	"testing"
)

// TestMain lets the test binary act as a handler, because the command starts its own binary as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "handler" {
		main()
		return
	}
	os.Exit(m.Run())
}

// The whole procedure works on a small cluster: kube-scheduler alone, with a handler that it really
// asks, and with two contenders side by side.
//
//e2e:tier all
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a whole cluster")
	}
	var out, progress bytes.Buffer
	f := flags{nodes: 10, pods: 20, rounds: 1, names: []string{"none", "neutral", "stock", "plugin"}, bench: true, apart: runtime.GOOS == "linux" && runtime.NumCPU() > 1}
	if err := run(t.Context(), f, &out, &progress); err != nil {
		t.Fatalf("%v\n%s", err, &progress)
	}
	want := regexp.MustCompile(`^BenchmarkThroughput/nodes=10/none 1 [1-9][0-9.]* pods/s \S+ scheduler-cpu-ms/pod \S+ handler-cpu-ms/pod
BenchmarkThroughput/nodes=10/neutral 1 [1-9][0-9.]* pods/s \S+ scheduler-cpu-ms/pod \S+ handler-cpu-ms/pod
BenchmarkThroughput/nodes=10/stock 1 [1-9][0-9.]* pods/s \S+ scheduler-cpu-ms/pod \S+ handler-cpu-ms/pod
BenchmarkThroughput/nodes=10/plugin 1 [1-9][0-9.]* pods/s \S+ scheduler-cpu-ms/pod \S+ handler-cpu-ms/pod
$`)
	if !want.Match(out.Bytes()) {
		t.Errorf("printed:\n%s", &out)
	}
	for _, ratio := range []string{"neutral to none", "plugin to stock, at least 0.90"} {
		if !regexp.MustCompile(`(?m)^` + ratio + ` +[0-9.]+`).Match(progress.Bytes()) {
			t.Errorf("no %s in:\n%s", ratio, &progress)
		}
	}
}

func TestFlags(t *testing.T) {
	tests := map[string]flags{
		"too few nodes":              {nodes: 9, pods: 20, rounds: 1},
		"one pod has no rate":        {nodes: 10, pods: 1, rounds: 1},
		"more pods than fit":         {nodes: 10, pods: 501, rounds: 1},
		"no round":                   {nodes: 10, pods: 20},
		"a variant that there isn't": {nodes: 10, pods: 20, rounds: 1, names: []string{"nonesuch"}},
	}
	for name, f := range tests {
		t.Run(name, func(t *testing.T) {
			if err := f.complete(); err == nil {
				t.Error("taken")
			}
		})
	}
	good := flags{nodes: 10, pods: 500, rounds: 1}
	if err := good.complete(); err != nil || len(good.variants) == 0 {
		t.Errorf("refused: %v", err)
	}
}
