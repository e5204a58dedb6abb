package sim

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/sim/trace"
	"github.com/evenkeel/evenkeel/strategies/plugin"
	"github.com/evenkeel/evenkeel/strategies/preferred"
	"github.com/evenkeel/evenkeel/strategies/realusage"
)

// If demand follows day and night, pods return to nodes that they prefer and stay there. Until the
// nodes' daily peaks are known, after two days, some pods go back and forth, each at most four
// times. After that, none does, and nodes are hardly hot for longer than with relief alone.
func TestPodsThatReturnStayThroughTheDay(t *testing.T) {
	const days, learnt, mostOfOne, mostHotter = 6, 3, 4, 0.1
	alone, both := swinging(t, days), swinging(t, days)
	alone.play(t, &realusage.Args{})
	both.play(t, &realusage.Args{}, &preferred.Args{MinWeightGained: 1})
	late := 0
	for _, day := range both.left {
		if day >= learnt {
			late++
		}
	}
	if late > 0 || both.most > mostOfOne || both.hot > alone.hot+mostHotter {
		t.Errorf("%d pods leave preferred nodes once peaks are known, one is moved %d times, %.2f%% of node-time is hot, and %.2f%% with relief alone",
			late, both.most, both.hot, alone.hot)
	}
	if both.returned < 20 || len(both.left) == 0 {
		t.Errorf("%d pods return and %d leave again, which proves little", both.returned, len(both.left))
	}
}

// swing is a fleet under a load that follows day and night, and the result of its replay.
type swing struct {
	fleet *Fleet
	steps int
	// hot is the share of node-time that is hot, in percent.
	hot float64
	// returned counts the moves to preferred nodes, and most the moves of the pod that was moved
	// most often. left holds the days on which pods were moved off nodes to which they had
	// returned.
	returned, most int
	left           []int
}

// swinging has six nodes with 20 pods each. The pods of two nodes must not be moved, and their
// usage swings by day and night, up to about the reject line. The pods of the other nodes are
// steady and prefer these two nodes.
func swinging(t *testing.T, days int) *swing {
	t.Helper()
	const nodes, each = 6, 20
	cpu, rng := &trace.Trace{Name: "swinging"}, rand.New(rand.NewPCG(1, 12))
	s := &swing{steps: days * 288}
	for i := range nodes * each {
		size, height, series := float32(20*math.Exp(0.1*rng.NormFloat64())), 0.0, make([]float32, s.steps)
		if i%nodes < 2 {
			height = 0.7
		}
		for k := range series {
			series[k] = size * float32((1-height*math.Cos(2*math.Pi*float64(k)/288))*math.Exp(0.05*rng.NormFloat64()))
		}
		cpu.Series = append(cpu.Series, series)
	}
	shape := DefaultShape()
	shape.Nodes, shape.MeanCPUPercent, shape.RequestPercent = nodes, 35, 30
	var err error
	if s.fleet, err = NewFleet(shape, cpu, nil); err != nil {
		t.Fatal(err)
	}
	for i := range s.fleet.machines {
		s.fleet.machines[i].node.Labels["pool"] = "dear"
		if i < 2 {
			s.fleet.machines[i].node.Labels["pool"] = "cheap"
		}
	}
	for i := range s.fleet.Replicas {
		r := &s.fleet.Replicas[i]
		r.Owner = i%nodes*4 + i/nodes%4
		r.Home = s.fleet.machines[i%nodes].node.Name
		r.Fixed = i%nodes < 2
		if i%nodes >= 2 {
			r.template = preferring(r)
		}
	}
	s.fleet.Owners = 4 * nodes
	return s
}

// preferring returns the template of pods that prefer cheap nodes.
func preferring(r *Replica) *v1.Pod {
	name := "set-" + strconv.Itoa(r.Owner)
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, GenerateName: name, Labels: map[string]string{"app": name, "pod-template-hash": "1"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name, UID: types.UID(name), Controller: new(true)}},
		},
		Spec: v1.PodSpec{
			SchedulerName: v1.DefaultSchedulerName,
			Containers:    []v1.Container{{Name: "c", Resources: v1.ResourceRequirements{Requests: listOf(r.Requests)}}},
			Affinity: &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{
				Weight: 50, Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "pool", Operator: v1.NodeSelectorOpIn, Values: []string{"cheap"}}}},
			}}}},
		},
		Status: v1.PodStatus{Phase: v1.PodPending},
	}
}

func (s *swing) play(t *testing.T, all ...plugin.Strategy) {
	t.Helper()
	p := shipped(t)
	p.Strategies, p.Options.MinHotTimeSaved, p.Options.Recurs.Period = all, 10*time.Minute, 24*time.Hour
	p.Observer.Usage.Recurs = p.Options.Recurs
	c := defaultsOn(s.fleet)
	c.Steps = s.steps
	v := &Variant{Name: t.Name(), Policy: p, Evicts: true, Steers: true}
	player := started(t, c, v)
	playAll(t, player, func(int) {})
	moves, back := map[int]int{}, map[int]bool{}
	for _, m := range player.tally.moves {
		moves[m.replica]++
		s.most = max(s.most, moves[m.replica])
		if back[m.replica] {
			s.left = append(s.left, m.step/288)
		}
		if back[m.replica] = m.to >= 0 && m.to < 2; back[m.replica] {
			s.returned++
		}
	}
	s.hot = player.tally.result(c, v).HotPercent
}
