package prometheus

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/contention"
)

// base holds the expression for a metric's current value, and the expression whose sample
// times are the times of measurement.
type base struct {
	now, stamp string
	// ofContainers is true if the value is computed over containers and no longer has the
	// labels of pods.
	ofContainers bool
}

// nodeBase returns the preset's expressions for a node metric; empty if the
// preset has none.
//
// Counters are read with irate instead of rate. rate divides by its whole range even if
// the data has just begun, so a server that started a minute ago would report a fraction
// of the usage. Means are computed from irate by subqueries.
func (c *Config) nodeBase(metric usage.Metric) base {
	available := c.selector("node_memory_MemAvailable_bytes")
	switch c.NodeMetrics {
	case NodeExporter:
		now := map[usage.Metric]string{
			usage.CPUContention:  c.contention(),
			usage.CPUStolen:      "sum without (cpu, mode) (" + c.irate("node_cpu_seconds_total", `mode="steal"`) + ")",
			usage.CPU:            "sum without (cpu, mode) (" + c.irate("node_cpu_seconds_total", `mode!~"idle|iowait|steal"`) + ")",
			usage.Memory:         c.nodeWorkingSet() + " or " + c.selector("node_memory_MemTotal_bytes") + " - " + available,
			usage.CPUPressure:    c.irate("node_pressure_cpu_waiting_seconds_total") + " * 100",
			usage.MemoryPressure: c.irate("node_pressure_memory_waiting_seconds_total") + " * 100",
			usage.IOPressure:     c.irate("node_pressure_io_waiting_seconds_total") + " * 100",
		}
		return base{now: now[metric], stamp: available, ofContainers: metric == usage.CPUContention}
	case Kubelet:
		memory := c.selector("node_memory_working_set_bytes")
		now := map[usage.Metric]string{usage.CPU: c.irate("node_cpu_usage_seconds_total"), usage.Memory: memory, usage.CPUContention: c.contention()}
		return base{now: now[metric], stamp: memory, ofContainers: metric == usage.CPUContention}
	}
	return base{}
}

// contention returns contention.Of as an expression over cAdvisor's metrics:
// how long the containers of a node wait, without those that hardly run and
// those that are throttled. If a node's kernel has no PSI, all its counters are
// zero, which does not mean zero contention.
func (c *Config) contention() string {
	container := c.containers()
	one := strings.Join([]string{c.NamespaceLabel, c.PodLabel, "container"}, ", ")
	number := func(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }
	busy := " > " + number(contention.BusyMilli/1000.0)
	waits := c.irate(waiting, container...) + " * 100" +
		" and on (" + one + ") (" + c.irate("container_cpu_usage_seconds_total", container...) + busy + " or " + c.irate(waiting, container...) + busy + ")" +
		" unless on (" + one + ") " + c.irate("container_cpu_cfs_throttled_periods_total", container...) +
		" / " + c.irate("container_cpu_cfs_periods_total", container...) + " > " + number(contention.ThrottledPeriodsPercent/100.0)
	without := "without (" + c.containerLabels() + ") "
	total := "sum " + without + "(" + c.selector(waiting, container...) + ")"
	return "(quantile " + without + "(" + number(contention.Quantile) + ", " + waits + ") or 0 * " + total + ") and " + total + " > 0"
}

const waiting = "container_pressure_cpu_waiting_seconds_total"

// containers returns matchers for the containers of pods. They exclude whole pods (no
// container label) and sandboxes (POD), which would count twice.
func (c *Config) containers() []string {
	return []string{`container!="",container!="POD"`, c.PodLabel + `!=""`}
}

// containerLabels returns the labels that distinguish the containers of a node.
func (c *Config) containerLabels() string {
	return strings.Join([]string{"id", "image", "name", c.NamespaceLabel, c.PodLabel, "container"}, ", ")
}

// labelled adds the labels of the container that waited longest to a value computed over
// containers. That container's pod decides whether a page of results is valid for the
// node. The labels are added to a whole window, within which that container may change.
func (c *Config) labelled(expression string) string {
	longest := "topk without (" + c.containerLabels() + ") (1, " + c.selector(waiting, c.containers()...) + ")"
	return "0 * " + longest + " + ignoring (" + c.containerLabels() + ") group_left () (" + expression + ")"
}

// nodeWorkingSet returns the working set of a node in terms of node-exporter's
// metrics, as the kubelet computes it from the root cgroup: anonymous and file
// pages without the inactive file pages. Pods are measured in the same way.
// With MemAvailable, which also excludes the active file pages, pods could
// exceed their node.
func (c *Config) nodeWorkingSet() string {
	of := func(name string) string { return c.selector("node_memory_" + name + "_bytes") }
	return of("AnonPages") + " + " + of("Cached") + " + " + of("Buffers") + " + " + of("SwapCached") + " - " + of("Inactive_file")
}

// podBase returns the expression of a resource's usage by pod.
//
// The inner max counts a container once if it is scraped twice: by cAdvisor and
// the resource endpoint, which share these names, or by two servers. Series of
// different origin are kept apart, because a container's value must not be the
// maximum of what its kubelet, a page of the pod itself and the kubelet of
// another cluster report.
func (c *Config) podBase(metric usage.Metric) string {
	expression := c.irate("container_cpu_usage_seconds_total", c.containers()...)
	if metric == usage.Memory {
		expression = c.selector("container_memory_working_set_bytes", c.containers()...)
	}
	labels := []string{c.NamespaceLabel, c.PodLabel, instanceLabel}
	for _, pair := range podLabels {
		labels = usage.Distinct(labels, pair[:])
	}
	by := strings.Join(append(labels, clusterLabels[:]...), ", ")
	return "sum by (" + by + ") (max by (" + by + ", container) (" + expression + "))"
}

// selector returns a selector with the policy's matchers after the given ones.
func (c *Config) selector(name string, matchers ...string) string {
	for _, label := range slices.Sorted(maps.Keys(c.Matchers)) {
		matchers = append(matchers, label+"="+strconv.Quote(c.Matchers[label]))
	}
	if len(matchers) == 0 {
		return name
	}
	return name + "{" + strings.Join(matchers, ",") + "}"
}

func (c *Config) irate(name string, matchers ...string) string {
	return "irate(" + c.selector(name, matchers...) + "[" + duration(c.RateWindow.Duration) + "])"
}

// over returns the expression of a window over another expression, evaluated
// once every step.
func over(now string, w usage.Window, step time.Duration) string {
	switch w.Kind {
	case usage.KindAvg:
		return fmt.Sprintf("avg_over_time((%s)[%s:%s])", now, duration(w.Over), duration(step))
	case usage.KindQuantile:
		quantile := strconv.FormatFloat(float64(w.Percentile)/100, 'f', 2, 64)
		return fmt.Sprintf("quantile_over_time(%s, (%s)[%s:%s])", quantile, now, duration(w.Over), duration(step))
	case usage.KindMaxAvg:
		return fmt.Sprintf("max_over_time((avg_over_time((%s)[5m:1m]))[%s:5m])", now, duration(w.Over))
	case usage.KindLast:
	}
	return now
}

// stepOf returns the step of a node window: short enough for an accurate mean,
// long enough for the server.
func stepOf(w usage.Window) time.Duration {
	switch {
	case w.Over <= 10*time.Minute:
		return 30 * time.Second
	case w.Over <= time.Hour:
		return time.Minute
	}
	return 5 * time.Minute
}

// podStep is the step of a pod window. It is long because there are many pods.
const podStep = time.Minute

// duration formats a duration for PromQL, in the largest unit that divides it.
func duration(d time.Duration) string {
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if d%unit.length == 0 {
			return strconv.FormatInt(int64(d/unit.length), 10) + unit.name
		}
	}
	return strconv.FormatInt(d.Milliseconds(), 10) + "ms"
}
