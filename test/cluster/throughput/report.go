package throughput

import (
	"fmt"
	"io"
	"strings"

	"github.com/evenkeel/evenkeel/hack/measure"
)

// Figure is the result of a variant in one round.
type Figure struct {
	PodsPerSecond float64
	// SchedulerMilliPerPod and HandlerMilliPerPod are processor times in milliseconds; 0 if
	// a process does not report them. If other work uses the same processors, they are
	// steadier than rates. The handler's time includes its other work.
	SchedulerMilliPerPod, HandlerMilliPerPod float64
}

// Mean combines the figures of successive waves with the same number of pods.
func Mean(waves []Figure) Figure {
	var mean Figure
	seconds, n := 0.0, float64(len(waves)) // time per pod, summed over all waves
	for _, f := range waves {
		seconds += 1 / f.PodsPerSecond
		mean.SchedulerMilliPerPod += f.SchedulerMilliPerPod / n
		mean.HandlerMilliPerPod += f.HandlerMilliPerPod / n
	}
	mean.PodsPerSecond = n / seconds
	return mean
}

// Report holds the results of a measurement.
type Report struct {
	Nodes, Pods int
	// Figures holds, for each variant, one figure per round.
	Figures map[string][]Figure
}

// Add adds a variant's figure for another round.
func (r *Report) Add(variant string, figure Figure) {
	if r.Figures == nil {
		r.Figures = map[string][]Figure{}
	}
	r.Figures[variant] = append(r.Figures[variant], figure)
}

// BenchLine formats one figure in Go's benchmark format.
func (r *Report) BenchLine(variant string, f Figure) string {
	milli := func(value float64) string { return fmt.Sprintf("%.3f", value) }
	return measure.Line(fmt.Sprintf("Throughput/nodes=%d/%s", r.Nodes, variant),
		measure.Value{Number: fmt.Sprintf("%.1f", f.PodsPerSecond), Unit: "pods/s"},
		measure.Value{Number: milli(f.SchedulerMilliPerPod), Unit: "scheduler-cpu-ms/pod"},
		measure.Value{Number: milli(f.HandlerMilliPerPod), Unit: "handler-cpu-ms/pod"})
}

// Ratios returns the ratios of two variants' pods per second, round by round.
func (r *Report) Ratios(of, beside string) []float64 {
	return measure.Ratios(r.rates(of), r.rates(beside))
}

func (r *Report) rates(variant string) []float64 {
	return r.figures(variant, func(f Figure) float64 { return f.PodsPerSecond })
}

// figures returns one number from each round's figure.
func (r *Report) figures(variant string, number func(Figure) float64) []float64 {
	var numbers []float64
	for _, f := range r.Figures[variant] {
		numbers = append(numbers, number(f))
	}
	return numbers
}

// Table writes the figures and their comparisons.
func (r *Report) Table(out io.Writer) error {
	fmt.Fprintf(out, "Pods per second of kube-scheduler, %d pods at a time on %d nodes\n\n", r.Pods, r.Nodes)
	table := [][]string{{"variant", "median", "rounds", "CPU ms per pod: kube-scheduler", "handler"}}
	for _, v := range Variants() {
		rates := r.rates(v.Name)
		if len(rates) == 0 {
			continue
		}
		own := r.figures(v.Name, func(f Figure) float64 { return f.SchedulerMilliPerPod })
		handler := r.figures(v.Name, func(f Figure) float64 { return f.HandlerMilliPerPod })
		table = append(table, []string{v.Name, median("%.0f", rates), join("%.0f", rates), median("%.2f", own), median("%.2f", handler)})
	}
	table = append(table, []string{"", "", "", "", ""}, []string{"ratio", "median", "rounds", "", ""})
	for _, c := range Comparisons() {
		ratios := r.Ratios(c.Of, c.Beside)
		if len(ratios) == 0 {
			continue
		}
		goal := ""
		if c.AtLeast > 0 {
			goal = fmt.Sprintf(", at least %.2f", c.AtLeast)
		}
		table = append(table, []string{c.Of + " to " + c.Beside + goal, median("%.2f", ratios), join("%.2f", ratios), "", ""})
	}
	return measure.Table(out, table)
}

func median(format string, values []float64) string {
	return fmt.Sprintf(format, measure.Median(values))
}

func join(format string, values []float64) string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = fmt.Sprintf(format, value)
	}
	return strings.Join(texts, " ")
}
