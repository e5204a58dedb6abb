package throughput

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// Ratios compare results of the same round, because the machine may be slower in another.
func TestRatios(t *testing.T) {
	r := &Report{Nodes: 10, Pods: 20}
	for _, figure := range []float64{100, 50, 80} {
		r.Add("neutral", Figure{PodsPerSecond: figure})
	}
	for _, figure := range []float64{120, 55} {
		r.Add("evenkeel", Figure{PodsPerSecond: figure})
	}
	if diff := cmp.Diff([]float64{1.2, 1.1}, r.Ratios("evenkeel", "neutral")); diff != "" {
		t.Errorf("ratios (-want +got):\n%s", diff)
	}
	if got := r.Ratios("evenkeel", "echo"); len(got) != 0 {
		t.Errorf("ratios to what was not run: %v", got)
	}
}

func TestTable(t *testing.T) {
	r := &Report{Nodes: 1000, Pods: 500}
	for _, round := range []float64{1, 2, 3} {
		r.Add("neutral", Figure{PodsPerSecond: 100 * round, SchedulerMilliPerPod: round, HandlerMilliPerPod: 1.5})
		r.Add("evenkeel", Figure{PodsPerSecond: 110 * round, SchedulerMilliPerPod: round / 4})
	}
	var out bytes.Buffer
	if err := r.Table(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"500 pods at a time on 1000 nodes",
		"neutral 200 100 200 300 2.00 1.50",
		"evenkeel 220 110 220 330 0.50 0.00",
		"evenkeel to neutral, at least 0.95 1.10 1.10 1.10 1.10",
	} {
		if !strings.Contains(strings.Join(strings.Fields(out.String()), " "), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "echo") {
		t.Errorf("a variant that was not run is in:\n%s", out.String())
	}
}

// All waves have the same number of pods, so the slow one takes longer.
func TestMean(t *testing.T) {
	got := Mean([]Figure{{PodsPerSecond: 100, SchedulerMilliPerPod: 4, HandlerMilliPerPod: 1}, {PodsPerSecond: 50, SchedulerMilliPerPod: 8, HandlerMilliPerPod: 2}})
	want := Figure{PodsPerSecond: 200.0 / 3, SchedulerMilliPerPod: 6, HandlerMilliPerPod: 1.5}
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Errorf("mean (-want +got):\n%s", diff)
	}
}

func TestBenchLine(t *testing.T) {
	r := &Report{Nodes: 1000}
	if got, want := r.BenchLine("evenkeel", Figure{512.34, 1.5, 0.25}), "BenchmarkThroughput/nodes=1000/evenkeel 1 512.3 pods/s 1.500 scheduler-cpu-ms/pod 0.250 handler-cpu-ms/pod"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestCPU(t *testing.T) {
	tests := map[string]time.Duration{
		"process_cpu_seconds_total 1.5\n":                                         1500 * time.Millisecond,
		"# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total 2\n": 2 * time.Second,
		"process_cpu_seconds_total text\n":                                        0,
		"go_goroutines 7\n":                                                       0,
		"":                                                                        0,
	}
	for text, want := range tests {
		if got := CPU(text); got != want {
			t.Errorf("of %q: %v, want %v", text, got, want)
		}
	}
}
