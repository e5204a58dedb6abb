package sim

import (
	"math"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
)

// boomerangTime is the time within which a replica counts as a boomerang if it returns to
// a node that it was moved off.
const boomerangTime = time.Hour

// moved is one executed move.
type moved struct {
	step     int
	replica  int
	from, to int // -1 if the replacement fitted nowhere
}

// tally records moves in a partial Result.
type tally struct {
	Result

	world *world
	step  int
	moves []moved
	// left maps replicas to their last moves.
	left map[int]moved
}

func newTally() *tally { return &tally{left: map[int]moved{}} }

// moved records the move of a replica's evicted pod. plan is empty if no destination was
// planned.
func (t *tally) moved(from, to, plan string, replica int) {
	w := t.world
	move := moved{step: t.step, replica: replica, from: w.index[from], to: -1}
	if to == "" {
		t.Pending++
	} else {
		move.to = w.index[to]
		t.Landed++
	}
	if plan != "" && to != "" {
		t.Planned++
		if plan == to {
			t.OnPlan++
		}
	}
	if last, ok := t.left[replica]; ok && last.from == move.to && time.Duration(t.step-last.step)*Step < boomerangTime || move.to == move.from {
		t.Boomerangs++
	}
	t.left[replica] = move
	t.moves = append(t.moves, move)
}

// Result is the outcome of a variant. Shares and deviations are means over the scored
// steps; docs/simulate.md has the formulas.
type Result struct {
	Variant string `json:"variant"`
	Nodes   int    `json:"nodes"`
	Pods    int    `json:"pods"`
	// Memory reports whether memory was replayed as well. If not, the memory figures are
	// meaningless.
	Memory bool `json:"memory"`
	// Steps is the number of scored steps, after the warm-up.
	Steps int     `json:"steps"`
	Days  float64 `json:"days"`
	// HotPercent is the share of node-time above the hot line, UnservedPercent the share of
	// CPU demand beyond the nodes' capacity.
	HotPercent      float64 `json:"hotPercent"`
	UnservedPercent float64 `json:"unservedPercent"`
	// LostPercent is the share of CPU demand lost to restarts.
	LostPercent float64 `json:"lostPercent"`
	// CPUDeviation is the standard deviation of five-minute means across nodes, in
	// percentage points. CPUDeviationHour is that of hourly means; nil if less than an hour
	// is scored.
	CPUDeviation        float64  `json:"cpuDeviation"`
	CPUDeviationHour    *float64 `json:"cpuDeviationHour"`
	MemoryDeviation     float64  `json:"memoryDeviation"`
	MemoryDeviationHour *float64 `json:"memoryDeviationHour"`
	// MemoryHotPercent is the share of node-time above the hot line by memory alone.
	MemoryHotPercent float64 `json:"memoryHotPercent"`
	// PeakCPUPercent is the highest demand on any node.
	PeakCPUPercent float64 `json:"peakCPUPercent"`
	Evictions      int     `json:"evictions"`
	// EvictionsPerPodAndDay is the rate of restarts.
	EvictionsPerPodAndDay float64 `json:"evictionsPerPodAndDay"`
	Landed                int     `json:"landed"`
	// Planned counts the landed moves that had a planned destination, OnPlan those of them
	// that landed on it.
	OnPlan     int `json:"onPlan"`
	Planned    int `json:"planned"`
	Boomerangs int `json:"boomerangs"`
	// Helped is the number of moves that saved hot time. A move saved hot time if, in the
	// following four hours or until the pod was moved again, source and destination were
	// above the hot line for less time than they would have been with the pod on its old
	// node.
	Helped  int `json:"helped"`
	Pending int `json:"pending"`
	// Refused counts evictions that a PodDisruptionBudget forbade; Deployed counts
	// pods replaced by deploys.
	Refused  int `json:"refused"`
	Deployed int `json:"deployed"`
	// EvictLinePercent is the CPU usage above which the variant moves pods off a node,
	// MemoryEvictLinePercent the memory usage; nil if it has no such line.
	EvictLinePercent       *float64 `json:"evictLinePercent"`
	MemoryEvictLinePercent *float64 `json:"memoryEvictLinePercent"`
	// Usage is CPU demand in percent. Each row is a step, with one value per node in the
	// order of the nodes.
	Usage [][]float64 `json:"usage,omitempty"`
	// EvictionsAt counts the evictions of each step.
	EvictionsAt []int `json:"evictionsAt,omitempty"`
}

// result summarizes a run.
func (t *tally) result(c *Config, v *Variant) Result {
	w := t.world
	demands := w.usage.demands
	warm := min(c.WarmUp, len(demands)-1)
	scored := demands[warm:]
	r := t.Result
	r.Variant, r.Nodes, r.Pods, r.Memory, r.Steps = v.Name, len(w.nodes), len(w.replicas), w.fleet.Memory, len(scored)
	r.EvictLinePercent, r.MemoryEvictLinePercent = line(v.Lines[cluster.CPU]), line(v.Lines[cluster.Memory])
	r.Days, r.Deployed = float64(len(scored))*Step.Hours()/24, w.deployed
	r.Evictions, r.EvictionsAt = len(t.moves), make([]int, len(demands))
	for i, move := range t.moves {
		r.EvictionsAt[move.step]++
		if t.helped(demands, i, c.HotLinePercent) {
			r.Helped++
		}
	}
	r.EvictionsPerPodAndDay = float64(r.Evictions) / w.fleet.meanPods(len(demands)) / (float64(len(demands)) * Step.Hours() / 24)
	r.CPUDeviation, r.MemoryDeviation = deviations(scored, 1)
	if len(scored) >= stepsPerHour {
		cpu, memory := deviations(scored, stepsPerHour)
		r.CPUDeviationHour, r.MemoryDeviationHour = &cpu, &memory
	}
	r.shares(scored, w.fleet, c.HotLinePercent)
	if total := totalCPU(demands, w.fleet); total > 0 {
		r.LostPercent = 100 * w.usage.lost[cluster.CPU] / total
	}
	if c.KeepUsage {
		for _, row := range demands {
			values := make([]float64, len(row))
			for i := range row {
				values[i] = row[i][cluster.CPU]
			}
			r.Usage = append(r.Usage, values)
		}
	}
	return r
}

// line returns percent; nil if there is no line.
func line(percent float64) *float64 {
	if percent == 0 || math.IsInf(percent, 1) {
		return nil
	}
	return &percent
}

// shares counts node-time above the line, and demand above capacity.
func (r *Result) shares(rows [][]cluster.Percents, fleet *Fleet, line float64) {
	var hot, memoryHot, over, all float64
	for _, row := range rows {
		for n, node := range row {
			if node[cluster.CPU] > line || node[cluster.Memory] > line {
				hot++
			}
			if node[cluster.Memory] > line {
				memoryHot++
			}
			weight := fleet.weight(n)[cluster.CPU]
			over += weight * max(0, node[cluster.CPU]-100)
			all += weight * node[cluster.CPU]
			r.PeakCPUPercent = max(r.PeakCPUPercent, node[cluster.CPU])
		}
	}
	samples := float64(len(rows) * r.Nodes)
	r.HotPercent, r.MemoryHotPercent = 100*hot/samples, 100*memoryHot/samples
	if all > 0 {
		r.UnservedPercent = 100 * over / all
	}
}

func totalCPU(rows [][]cluster.Percents, fleet *Fleet) (total float64) {
	for _, row := range rows {
		for n, node := range row {
			total += node[cluster.CPU] / 100 * float64(fleet.machines[n].capacity[cluster.CPU])
		}
	}
	return total
}

// deviations returns the mean standard deviation across nodes, for CPU and memory, of
// means over per steps. There must be at least per rows.
func deviations(rows [][]cluster.Percents, per int) (cpu, memory float64) {
	n := 0
	for from := 0; from+per <= len(rows); from += per {
		sums := make([]cluster.Percents, len(rows[from]))
		for _, row := range rows[from : from+per] {
			for i := range row {
				for k := range row[i] {
					sums[i][k] += row[i][k] / float64(per)
				}
			}
		}
		cpu, memory, n = cpu+deviation(sums, cluster.CPU), memory+deviation(sums, cluster.Memory), n+1
	}
	return cpu / float64(n), memory / float64(n)
}

func deviation(row []cluster.Percents, resource cluster.Resource) float64 {
	mean, square := 0.0, 0.0
	for i := range row {
		mean += row[i][resource] / float64(len(row))
	}
	for i := range row {
		square += (row[i][resource] - mean) * (row[i][resource] - mean) / float64(len(row))
	}
	return math.Sqrt(square)
}

// helped reports whether the i-th move saved hot time until it was judged, compared with
// the pod staying on the source with its own usage.
func (t *tally) helped(rows [][]cluster.Percents, i int, line float64) bool {
	move := t.moves[i]
	if move.to < 0 || move.to == move.from {
		return false
	}
	end := min(move.step+1+int(forecast.Horizon/Step), len(rows))
	for _, next := range t.moves[i+1:] {
		if next.replica == move.replica {
			end = min(end, next.step)
			break
		}
	}
	saved := 0
	for step := move.step + 1; step < end; step++ {
		demand := t.world.fleet.Replicas[move.replica].Demand(step)
		from, to := rows[step][move.from], rows[step][move.to]
		onFrom, onTo := demand.PercentOf(t.world.fleet.machines[move.from].capacity), demand.PercentOf(t.world.fleet.machines[move.to].capacity)
		saved += above(plus(from, onFrom), line) - above(from, line) - above(to, line) + above(minus(to, onTo), line)
	}
	return saved > 0
}

func above(used cluster.Percents, line float64) int {
	if used.Max() > line {
		return 1
	}
	return 0
}
