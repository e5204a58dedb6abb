package throughput

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/evenkeel/evenkeel/hack/median"
)

// Figure is what a variant has come to in one round.
type Figure struct {
	PodsPerSecond float64
	// SchedulerMilliPerPod and HandlerMilliPerPod are processor time, in milliseconds. Where other work shares the processors
	// they are the steadier figures. 0 where a process does not tell. What a handler does beside answering is in it.
	SchedulerMilliPerPod, HandlerMilliPerPod float64
}

// Mean is the figure of several waves of as many pods each, one after the other.
func Mean(waves []Figure) Figure {
	var mean Figure
	seconds, n := 0.0, float64(len(waves)) // per pod of every wave
	for _, f := range waves {
		seconds += 1 / f.PodsPerSecond
		mean.SchedulerMilliPerPod += f.SchedulerMilliPerPod / n
		mean.HandlerMilliPerPod += f.HandlerMilliPerPod / n
	}
	mean.PodsPerSecond = n / seconds
	return mean
}

// Report is what was measured.
type Report struct {
	Nodes, Pods int
	// Figures has an entry per round for each variant.
	Figures map[string][]Figure
}

// Add notes a variant's figure of one more round.
func (r *Report) Add(variant string, figure Figure) {
	if r.Figures == nil {
		r.Figures = map[string][]Figure{}
	}
	r.Figures[variant] = append(r.Figures[variant], figure)
}

// BenchLine is one figure in the format of Go's benchmarks.
func (r *Report) BenchLine(variant string, f Figure) string {
	return fmt.Sprintf("BenchmarkThroughput/nodes=%d/%s 1 %.1f pods/s %.3f scheduler-cpu-ms/pod %.3f handler-cpu-ms/pod",
		r.Nodes, variant, f.PodsPerSecond, f.SchedulerMilliPerPod, f.HandlerMilliPerPod)
}

// Ratios are those of two variants' pods per second, round by round; a round that only one of them has finished is left out.
func (r *Report) Ratios(of, beside string) []float64 {
	above, below := r.Figures[of], r.Figures[beside]
	ratios := make([]float64, 0, len(above))
	for i := range min(len(above), len(below)) {
		ratios = append(ratios, above[i].PodsPerSecond/below[i].PodsPerSecond)
	}
	return ratios
}

// figures takes one number out of each round.
func (r *Report) figures(variant string, number func(Figure) float64) []float64 {
	var numbers []float64
	for _, f := range r.Figures[variant] {
		numbers = append(numbers, number(f))
	}
	return numbers
}

// Table writes the figures and how they compare.
func (r *Report) Table(out io.Writer) error {
	fmt.Fprintf(out, "Pods per second of kube-scheduler, %d pods at a time on %d nodes\n\n", r.Pods, r.Nodes)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "variant\tmedian\trounds\tCPU ms per pod: kube-scheduler\thandler")
	for _, v := range Variants() {
		rates := r.figures(v.Name, func(f Figure) float64 { return f.PodsPerSecond })
		own := median.Of(r.figures(v.Name, func(f Figure) float64 { return f.SchedulerMilliPerPod }))
		handler := median.Of(r.figures(v.Name, func(f Figure) float64 { return f.HandlerMilliPerPod }))
		if len(rates) > 0 {
			fmt.Fprintf(table, "%s\t%.0f\t%s\t%.2f\t%.2f\n", v.Name, median.Of(rates), join("%.0f", rates), own, handler)
		}
	}
	fmt.Fprintln(table, "\t\t\t\t\nratio\tmedian\trounds\t\t")
	for _, c := range Comparisons() {
		ratios := r.Ratios(c.Of, c.Beside)
		if len(ratios) == 0 {
			continue
		}
		goal := ""
		if c.Goal > 0 {
			goal = fmt.Sprintf(", at least %.2f", c.Goal)
		}
		fmt.Fprintf(table, "%s to %s%s\t%.2f\t%s\t\t\n", c.Of, c.Beside, goal, median.Of(ratios), join("%.2f", ratios))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	return nil
}

func join(format string, values []float64) string {
	texts := make([]string, len(values))
	for i, value := range values {
		texts[i] = fmt.Sprintf(format, value)
	}
	return strings.Join(texts, " ")
}
