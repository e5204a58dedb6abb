//go:build linux

package kubelet

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// TestContentionOfThisMachine runs loops in control groups of this machine, and reads from its
// pressure files what a kubelet would put into its summary. It requires root, PSI, cgroup v2 or v1
// with a unified hierarchy, and two minutes of as much CPU as one group of the machine gets:
//
//	EVENKEEL_PRESSURE_FILES=1 nice go test -run ContentionOfThisMachine -v ./observe/usage/kubelet
//
// The summary's percentages cover the whole measurement, so there is no need to wait until avg60
// has settled.
func TestContentionOfThisMachine(t *testing.T) {
	if os.Getenv("EVENKEEL_PRESSURE_FILES") == "" {
		t.Skip("EVENKEEL_PRESSURE_FILES is not set")
	}
	groups := newGroups(t)
	limited := func(milli int64, load load) contained { return contained{limitMilli: milli, load: load} }
	free := contained{load: loop}
	for _, tc := range []struct {
		name       string
		containers []contained
		// most and least bound the contention, in percent. In cases in which nothing counts, limits
		// are small enough for a busy machine to provide that much CPU.
		least, most float64
	}{
		{"four at limits of 20m", repeat(4, limited(20, loop)), 0, 0},
		{"one of four threads at a limit of 100m", []contained{limited(100, loops)}, 0, 0},
		{"one without a limit for each CPU", repeat(groups.cpus, free), 0, 100},
		{"three without limits for each CPU", repeat(3*groups.cpus, free), 40, 100},
		{"the same and four at limits of 100m", append(repeat(3*groups.cpus, free), repeat(4, limited(100, loop))...), 40, 100},
		{"the same and twenty that sleep", append(repeat(3*groups.cpus, free), repeat(20, contained{load: asleep})...), 40, 100},
		{"bursts that a limit of 600m throttles", []contained{limited(600, bursts)}, 0, 100},
	} {
		t.Run(tc.name, func(t *testing.T) {
			measured := groups.measure(t, tc.containers)
			text, err := json.Marshal(measured.summary)
			if err != nil {
				t.Fatal(err)
			}
			got := -1.0
			for _, reading := range reportOf(t, measured.node, string(text)).readings {
				if reading.Metric == usage.CPUContention && reading.Window == usage.Last {
					got = reading.Value
				}
			}
			t.Logf("contention %.1f%%; containers: used %v, waited %.0f%%, throttled in %.0f%% of the periods", got, measured.usedMilli, measured.waited, measured.throttled)
			if tc.most == 0 && slices.Min(measured.throttled) < 50 {
				t.Skip("other work uses so much of this machine that limits throttle nothing")
			}
			if got < tc.least || got > tc.most {
				t.Errorf("contention %.1f%%, want %v to %v", got, tc.least, tc.most)
			}
		})
	}
}

// load is the shell command that a container runs.
type load string

const (
	loop   load = "while :; do :; done"
	loops  load = "(while :; do :; done)& (while :; do :; done)& (while :; do :; done)& while :; do :; done"
	asleep load = "while :; do sleep 5; done"
	// bursts runs four threads at a time, again and again.
	bursts load = "while :; do for i in 1 2 3 4; do (i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done)& done; wait; sleep 0.3; done"
)

type contained struct {
	limitMilli int64
	load       load
}

func repeat(n int, one contained) (all []contained) {
	for range n {
		all = append(all, one)
	}
	return all
}

// groups holds the folders of control groups: pressure has the pressure files, and cpu the limits
// and counters.
type groups struct {
	pressure, cpu string
	unified       bool
	cpus          int
}

const (
	measuring = 15 * time.Second
	period    = 100_000 // period of a limit, in microseconds
)

func newGroups(t *testing.T) *groups {
	t.Helper()
	mounts, err := os.ReadFile("/proc/mounts")
	if err != nil {
		t.Fatal(err)
	}
	g := &groups{}
	for line := range strings.Lines(string(mounts)) {
		fields := strings.Fields(line)
		switch {
		case fields[2] == "cgroup2":
			g.pressure = filepath.Join(fields[1], "evenkeel")
		case fields[2] == "cgroup" && strings.Contains(","+fields[3]+",", ",cpu,"):
			g.cpu = filepath.Join(fields[1], "evenkeel")
		}
	}
	if g.cpu == "" {
		g.cpu, g.unified = g.pressure, true
	}
	online, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(online)) {
		if strings.HasPrefix(line, "cpu") && line[3] != ' ' {
			g.cpus++
		}
	}
	return g
}

// measured is the result for some containers.
type measured struct {
	summary           statsapi.Summary
	node              *cluster.NodePods
	usedMilli         []int64
	waited, throttled []float64
}

// totals are the counters of a container or of the machine.
type totals struct{ waited, used, periods, throttled int64 }

func (g *groups) measure(t *testing.T, all []contained) *measured {
	t.Helper()
	for i := range all {
		g.start(t, i, &all[i])
	}
	time.Sleep(2 * time.Second) // until all are running
	before, began := g.read(t, len(all)), time.Now()
	time.Sleep(measuring)
	after, passed := g.read(t, len(all)), time.Since(began).Microseconds()
	m := &measured{node: aNode("n1")}
	at := metav1.NewTime(time.Now())
	stats := func(from, to totals) *statsapi.CPUStats {
		percent := 100 * float64(to.waited-from.waited) / float64(passed)
		return &statsapi.CPUStats{
			Time: at, UsageNanoCores: new(uint64((to.used - from.used) * 1_000_000 / passed * 1000)),
			PSI: &statsapi.PSIStats{Some: statsapi.PSIData{Total: uint64(to.waited), Avg60: percent, Avg300: percent}},
		}
	}
	memory := &statsapi.MemoryStats{Time: at, WorkingSetBytes: new(uint64(gib))}
	m.summary.Node = statsapi.NodeStats{NodeName: "n1", CPU: stats(before[len(all)], after[len(all)]), Memory: memory}
	for i := range all {
		pod := aPod("shop", fmt.Sprintf("p%02d", i))
		pod.CPULimits = pod.CPULimits.With("main", all[i].limitMilli)
		m.node.Pods = append(m.node.Pods, pod)
		cpu := stats(before[i], after[i])
		m.summary.Pods = append(m.summary.Pods, statsapi.PodStats{
			PodRef: statsapi.PodReference{Namespace: pod.Namespace, Name: pod.Name}, CPU: cpu, Memory: memory,
			Containers: []statsapi.ContainerStats{{Name: "main", CPU: cpu}},
		})
		m.usedMilli = append(m.usedMilli, int64(*cpu.UsageNanoCores)/1_000_000)
		m.waited = append(m.waited, cpu.PSI.Some.Avg60)
		m.throttled = append(m.throttled, 100*float64(after[i].throttled-before[i].throttled)/max(1, float64(after[i].periods-before[i].periods)))
	}
	return m
}

// start runs a load in its own control groups until the test ends.
func (g *groups) start(t *testing.T, i int, c *contained) {
	t.Helper()
	var enter strings.Builder
	for _, root := range []string{g.pressure, g.cpu} {
		group := filepath.Join(root, strconv.Itoa(i))
		if err := os.MkdirAll(group, 0o755); err != nil {
			t.Fatal(err)
		}
		if g.unified {
			setFile(t, filepath.Join(filepath.Dir(root), "cgroup.subtree_control"), "+cpu")
			setFile(t, filepath.Join(root, "cgroup.subtree_control"), "+cpu")
		}
		fmt.Fprintf(&enter, "echo $$ > %s/cgroup.procs; ", group)
		t.Cleanup(func() { _ = errors.Join(os.Remove(group), os.Remove(root)) })
	}
	if quota := strconv.FormatInt(c.limitMilli*period/1000, 10); c.limitMilli > 0 && g.unified {
		setFile(t, filepath.Join(g.cpu, strconv.Itoa(i), "cpu.max"), quota+" "+strconv.Itoa(period))
	} else if c.limitMilli > 0 {
		setFile(t, filepath.Join(g.cpu, strconv.Itoa(i), "cpu.cfs_quota_us"), quota)
	}
	command := exec.Command("sh", "-c", enter.String()+"exec sh -c '"+string(c.load)+"'")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		g.kill(t, i)
		_ = command.Wait()
	})
}

// kill ends all processes of a container, including children.
func (g *groups) kill(t *testing.T, i int) {
	t.Helper()
	setFile(t, filepath.Join(g.pressure, strconv.Itoa(i), "cgroup.kill"), "1")
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if left, err := os.ReadFile(filepath.Join(g.pressure, strconv.Itoa(i), "cgroup.procs")); err != nil || len(left) == 0 {
			return
		}
	}
	t.Errorf("container %d still runs", i)
}

// read returns the counters of each container, followed by those of the machine.
func (g *groups) read(t *testing.T, n int) []totals {
	t.Helper()
	all := make([]totals, n+1)
	for i := range n {
		all[i].waited = some(t, filepath.Join(g.pressure, strconv.Itoa(i), "cpu.pressure"))
		stat := fieldsOf(t, filepath.Join(g.cpu, strconv.Itoa(i), "cpu.stat"))
		all[i].periods, all[i].throttled, all[i].used = stat["nr_periods"], stat["nr_throttled"], stat["usage_usec"]
		if !g.unified {
			all[i].used = cpuTime(t, filepath.Join(g.pressure, strconv.Itoa(i), "cpu.stat"))
		}
	}
	all[n].waited = some(t, "/proc/pressure/cpu")
	return all
}

// cpuTime returns the CPU time, which the unified hierarchy counts wherever the controller is
// mounted.
func cpuTime(t *testing.T, path string) int64 {
	t.Helper()
	return fieldsOf(t, path)["usage_usec"]
}

// some returns the total of the line "some" of a pressure file, in microseconds.
func some(t *testing.T, path string) int64 {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	_, total, found := strings.Cut(first, "total=")
	value, err := strconv.ParseInt(total, 10, 64)
	if !found || err != nil {
		t.Fatalf("%s: %q has no total", path, first)
	}
	return value
}

// fieldsOf reads lines that consist of a name and a number.
func fieldsOf(t *testing.T, path string) map[string]int64 {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	fields := map[string]int64{}
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), " "); ok {
			fields[name], _ = strconv.ParseInt(value, 10, 64)
		}
	}
	return fields
}

func setFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
