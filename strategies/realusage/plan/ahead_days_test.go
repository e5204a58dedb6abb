package plan

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/strategies"
)

// days is a fleet whose pods do the same each day, in half of the fleets at random hours. Some
// nodes also have a Job, which may have ended by the hour of its burst.
type days struct {
	nodes int
	pods  []strategies.Pod
	home  map[string]int
	jobs  []*strategies.Pod // by node; nil if it has none
}

func newDays(r *rand.Rand) *days {
	d := &days{nodes: 4 + r.IntN(8), home: map[string]int{}}
	together, peak := r.IntN(2) == 0, int64(r.IntN(20))
	burst := func(name string, most int) strategies.Pod {
		hour := int64(r.IntN(22))
		if together {
			hour = peak + int64(r.IntN(2))
		}
		return recurring(name, hour, 50+int64(r.IntN(most)))
	}
	for k := range d.nodes * (3 + r.IntN(5)) {
		p := burst(fmt.Sprintf("p%03d", k), 350)
		p.Disruption.Quarters = r.IntN(8)
		d.pods, d.home[p.Name] = append(d.pods, p), r.IntN(d.nodes)
	}
	for n := range d.nodes {
		job := burst(fmt.Sprintf("job-%d", n), 700)
		if d.jobs = append(d.jobs, &job); r.IntN(2) == 0 {
			d.jobs[n] = nil
		}
	}
	return d
}

func (d *days) at(at time.Time) Input {
	list := make([]Node, d.nodes)
	for n := range list {
		var on []strategies.Pod
		for _, p := range d.pods {
			if d.home[p.Name] == n {
				p.Usage[cluster.CPU] = int64(p.Pattern.At(daily.Part(at.Unix())))
				on = append(on, p)
			}
		}
		list[n] = quietly(fmt.Sprintf("node-%02d", n), 50, on...)
		if job := d.jobs[n]; job != nil {
			list[n].Course.Add(job.Expected, job.Pattern)
		}
	}
	return Input{Nodes: shipped().on(list), Placement: &refusing{}, MinHotMinutesSaved: 10, Recurs: daily, At: at}
}

// If days repeat, moves ahead of time cease within two days, no plan makes nodes hot for longer in
// total, and hardly any pod is moved twice.
func TestReliefAheadComesToRest(t *testing.T) {
	for seed := range uint64(60) {
		d, moved := newDays(rand.New(rand.NewPCG(seed, 7))), map[string]int{}
		minutes := func(in Input) (sum float64) {
			for i := range in.Nodes {
				sum += in.Nodes[i].hotAhead(in.Nodes[i].Course, daily)
			}
			return sum
		}
		before := minutes(d.at(midnight))
		for half := range 6 * 48 {
			at := midnight.Add(time.Duration(half) * 30 * time.Minute)
			for _, m := range New(d.at(at)).Moves {
				d.home[m.Name] = int(m.To[5]-'0')*10 + int(m.To[6]-'0')
				if moved[m.Name]++; half >= 2*48 || moved[m.Name] > 2 {
					t.Errorf("seed %d: %s is moved for the %d. time on day %d", seed, m.Name, moved[m.Name], half/48)
				}
			}
			after := minutes(d.at(at))
			if after > before+0.01 {
				t.Errorf("seed %d: nodes are hot for %.1f minutes instead of %.1f", seed, after, before)
			}
			before = after
		}
	}
}
