package exporters

import (
	"math"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	stats "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/evenkeel/evenkeel/test/cluster"
)

// Pressure is the percentage of time in which some task waited for a resource. It is the
// same in each window.
type Pressure struct{ CPU, Memory, IO float64 }

// pressureOf derives pressure from CPU usage: it rises from 0 at 70% to 60% at full
// usage, because tasks wait long before no CPU is left.
func pressureOf(node cluster.NodeTruth) Pressure {
	percent := 100 * float64(node.Used.CPUMilli) / float64(max(1, node.Capacity.CPUMilli))
	return Pressure{CPU: min(100, 2*max(0, percent-70))}
}

// running is the age that is reported for all nodes and pods.
const running = time.Hour

// summaryOf returns a kubelet's response to /stats/summary at the given time.
func summaryOf(node cluster.NodeTruth, at time.Time, m *meters) stats.Summary {
	summary := stats.Summary{Node: stats.NodeStats{
		NodeName: node.Name, StartTime: metav1.NewTime(at.Add(-running)),
		CPU:    cpuStats(m, node.Name, node.Used, at),
		Memory: memoryStats(node.Used, at),
		IO:     &stats.IOStats{Time: metav1.NewTime(at)},
	}}
	available := uint64(max(0, node.Capacity.MemoryBytes-node.Used.MemoryBytes))
	summary.Node.Memory.AvailableBytes = &available
	for _, pod := range node.Pods {
		summary.Pods = append(summary.Pods, podStats(m, pod, at))
	}
	return summary
}

func podStats(m *meters, pod cluster.PodTruth, at time.Time) stats.PodStats {
	share := int64(max(1, len(pod.Containers)))
	each := cluster.Amounts{CPUMilli: pod.Used.CPUMilli / share, MemoryBytes: pod.Used.MemoryBytes / share}
	result := stats.PodStats{
		PodRef: stats.PodReference{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}, StartTime: metav1.NewTime(at.Add(-running)),
		CPU:    cpuStats(m, pod.UID, pod.Used, at),
		Memory: memoryStats(pod.Used, at),
	}
	for _, container := range pod.Containers {
		result.Containers = append(result.Containers, stats.ContainerStats{
			Name: container, StartTime: metav1.NewTime(at.Add(-running)),
			CPU:    cpuStats(m, pod.UID+"/"+container, each, at),
			Memory: memoryStats(each, at),
		})
	}
	return result
}

// unmeasured sets the usage of pods to zero that a kubelet has not measured twice yet. A
// new pod was measured only when it was created, before its containers ran. After a
// restart, the kubelet has counters but no differences. Pods are in the same order as in
// the truth.
func unmeasured(summary *stats.Summary, node cluster.NodeTruth, restarted time.Time, lasts time.Duration, now time.Time) {
	zero := uint64(0)
	for i := range summary.Pods {
		pod, started := &summary.Pods[i], node.Pods[i].Started
		switch {
		case now.Before(started.Add(lasts)):
			at := metav1.NewTime(started)
			pod.CPU = &stats.CPUStats{Time: at, UsageNanoCores: &zero, UsageCoreNanoSeconds: &zero}
			pod.Memory = &stats.MemoryStats{Time: at, UsageBytes: &zero, WorkingSetBytes: &zero, RSSBytes: &zero}
		case now.Before(restarted.Add(lasts)):
			pod.CPU.UsageNanoCores = &zero
		}
	}
}

func cpuStats(m *meters, key string, used cluster.Amounts, at time.Time) *stats.CPUStats {
	nanoCores := uint64(used.CPUMilli) * uint64(time.Millisecond)
	total := m.add(key, nanoCores)
	return &stats.CPUStats{Time: metav1.NewTime(at), UsageNanoCores: &nanoCores, UsageCoreNanoSeconds: &total}
}

// memoryStats includes a page cache of an eighth of the working set, which readers should
// ignore.
func memoryStats(used cluster.Amounts, at time.Time) *stats.MemoryStats {
	workingSet := uint64(used.MemoryBytes)
	usage, resident := workingSet+workingSet/8, workingSet-workingSet/4
	return &stats.MemoryStats{Time: metav1.NewTime(at), UsageBytes: &usage, WorkingSetBytes: &workingSet, RSSBytes: &resident}
}

func addPressure(summary *stats.Summary, p Pressure) {
	node := &summary.Node
	for _, of := range []struct {
		psi     **stats.PSIStats
		percent float64
	}{{&node.CPU.PSI, p.CPU}, {&node.Memory.PSI, p.Memory}, {&node.IO.PSI, p.IO}} {
		*of.psi = psi(of.percent)
		// A kubelet gives a node's total in microseconds, those of containers in nanoseconds.
		(*of.psi).Some.Total /= 1000
	}
}

// psi returns the PSI of pressure that has been constant since the start. The total is at
// least a microsecond, because readers take a total of zero to mean that the kernel has
// no PSI.
func psi(percent float64) *stats.PSIStats {
	rounded := math.Round(100*percent) / 100
	total := uint64(rounded/100*float64(running.Nanoseconds())) + 1000
	return &stats.PSIStats{Some: stats.PSIData{Total: total, Avg10: rounded, Avg60: rounded, Avg300: rounded}}
}

// metersKept is the maximum number of counters in meters, which is far more than any test
// has containers.
const metersKept = 100_000

// meters counts CPU time between answers, as if usage had been constant in between.
type meters struct {
	mu    sync.Mutex
	known map[string]meter
}

type meter struct {
	at          time.Time
	nanoseconds uint64
}

func (m *meters) add(key string, nanoCores uint64) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Now()
	current, known := m.known[key]
	if known {
		current.nanoseconds += uint64(now.Sub(current.at).Seconds() * float64(nanoCores))
	}
	current.at = now
	if m.known == nil || len(m.known) > metersKept {
		m.known = map[string]meter{}
	}
	m.known[key] = current
	return current.nanoseconds
}
