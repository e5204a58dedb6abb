package prometheus

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evenkeel/evenkeel/observe/usage"
)

// Prometheus' own engine evaluates the built-in contention expression.
func TestContentionExpression(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("left out, because promtool is not installed (Debian's package prometheus has it)")
	}
	config := configFor("http://localhost:9090")
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	query, err := config.nodeQuery(usage.CPUContention, usage.Last)
	if err != nil {
		t.Fatal(err)
	}
	put("rules.yaml", "groups:\n- name: g\n  rules:\n  - record: contention\n    expr: '"+query.expression+"'\n")
	test := put("test.yaml", "rule_files: [rules.yaml]\nevaluation_interval: 1m\ntests:\n- interval: 1m\n  input_series:\n"+contentionSeries()+
		"  promql_expr_test:\n  - {expr: contention, eval_time: 10m, exp_samples: ["+
		// n1: 20, 40 and 90 count, so the result is 40 + 0.32 × (90 - 40). The labels are those of
		// the pod that waited longest.
		`{labels: 'contention{instance="n1",job="cadvisor",`+labelsOf("throttled")+`}', value: 56},`+
		// n2: no container runs enough to wait, so the result is zero.
		`{labels: 'contention{instance="n2",job="cadvisor",`+labelsOf("quiet")+`}', value: 0},`+
		// n3 has no PSI, so nothing is known. A series about n1 from a pod's page has the labels of
		// that pod.
		`{labels: 'contention{instance="n1",job="page",`+labelsOf("web-0")+`}', value: 70}`+
		"]}\n")
	if out, err := exec.CommandContext(t.Context(), promtool, "test", "rules", test).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func labelsOf(pod string) string {
	return fmt.Sprintf(`namespace="shop",pod="%[1]s",container="main",id="/kubepods/%[1]s",image="i",name="%[1]s"`, pod)
}

// contentionSeries returns ten minutes of cAdvisor's series. The counters rise by the given
// percentages of a second per second.
func contentionSeries() string {
	var all strings.Builder
	add := func(name, labels string, percent float64) {
		fmt.Fprintf(&all, "  - {series: '%s{instance=\"n%s}', values: '0+%gx15'}\n", name, labels, percent/100*60)
	}
	of := func(node int, job, pod string, cpuPercent, waitPercent, throttledPercent float64) {
		labels := fmt.Sprintf(`%d",job="%s",%s`, node, job, labelsOf(pod))
		add("container_cpu_usage_seconds_total", labels+`,cpu="total"`, cpuPercent)
		add("container_pressure_cpu_waiting_seconds_total", labels, waitPercent)
		if throttledPercent >= 0 { // a container without a limit has no periods
			add("container_cpu_cfs_periods_total", labels, 1000)
			add("container_cpu_cfs_throttled_periods_total", labels, 10*throttledPercent)
		}
	}
	container := func(node int, pod string, cpuPercent, waitPercent, throttledPercent float64) {
		of(node, "cadvisor", pod, cpuPercent, waitPercent, throttledPercent)
	}
	container(1, "busy", 90, 40, -1)
	container(1, "limited-and-not-throttled", 60, 20, 5)
	container(1, "throttled", 50, 95, 80)
	container(1, "idle", 1, 3, -1)
	container(1, "starved", 1, 90, -1)
	container(2, "quiet", 2, 4, -1)
	container(3, "blind", 90, 0, -1)
	of(1, "page", "web-0", 90, 70, -1)
	// The pod's own group and its sandbox do not count.
	add("container_pressure_cpu_waiting_seconds_total", `1",job="cadvisor",namespace="shop",pod="busy",id="/kubepods/busy"`, 99)
	add("container_pressure_cpu_waiting_seconds_total", `1",job="cadvisor",namespace="shop",pod="busy",container="POD",id="/kubepods/busy/0"`, 99)
	return all.String()
}
