package cycle

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
	"github.com/evenkeel/evenkeel/strategies/plugin/plugintest"
	"github.com/evenkeel/evenkeel/strategies/preferred"
	"github.com/evenkeel/evenkeel/strategies/realusage"
)

// previewing makes no moves but returns all of them, so that later strategies plan as if they had
// been made.
type previewing struct{ moves []string }

func (p *previewing) Planned(_ context.Context, _ *plugin.Plugin, made *strategies.Made) {
	p.moves = append(p.moves, plugintest.Moves(made)...)
}

func (p *previewing) Make(_ context.Context, plan *strategies.Plan, _ *strategies.Profile) []strategies.Move {
	return plan.Moves
}

// If no moves are made, a strategy assumes the moves of earlier strategies, so that it plans as in
// a cycle that evicts. It does not move the same pods again, uses no space that earlier moves have
// taken, and counts earlier moves. Explanations do the same.
func TestLaterStrategiesSupposeTheMovesOfEarlierOnes(t *testing.T) {
	relief, back := "a-1: hot-0 -> cheap-0", "web-1: dear-0 -> cheap-0"
	limited := func(most int) func(*plugintest.Fleet) {
		return func(f *plugintest.Fleet) {
			f.Observed.Beside = func(_ *cluster.Pod, _, ofNamespace int) (reasons.Reason, string) {
				if ofNamespace >= most {
					return reasons.NamespaceMovesPerHour, ""
				}
				return "", ""
			}
		}
	}
	for name, tc := range map[string]struct {
		change func(*plugintest.Fleet)
		// want are the moves if relief comes first, and reverse those if it comes last.
		want, reverse []string
	}{
		"both have room":                   {func(*plugintest.Fleet) {}, []string{relief, back}, []string{back, relief}},
		"there is room for one":            {func(f *plugintest.Fleet) { f.Node("cheap-0").Uses[cluster.CPU] = 2500 }, []string{relief}, []string{back}},
		"the hour has one move left":       {func(f *plugintest.Fleet) { f.Observed.MaxMoves = 1 }, []string{relief}, []string{back}},
		"the namespace has one move left":  {limited(1), []string{relief}, []string{back}},
		"the namespace has two moves left": {limited(2), []string{relief, back}, []string{back, relief}},
		"both need one port": {func(f *plugintest.Fleet) {
			for _, node := range []string{"hot-0", "dear-0"} {
				f.Node(node).Pods[0].Spec.Containers = []v1.Container{{Name: "c", Ports: []v1.ContainerPort{{HostPort: 80, ContainerPort: 80, Protocol: v1.ProtocolTCP}}}}
			}
		}, []string{relief}, []string{back}},
		"both are about the same pod": {func(f *plugintest.Fleet) {
			f.Node("hot-0").Pods[0].Spec.Affinity = f.Node("dear-0").Pods[0].Spec.Affinity
			f.Refused["web-1"] = reasons.OwnerRollingOut
		}, []string{relief}, []string{relief}},
	} {
		for _, reliefFirst := range []bool{true, false} {
			f, all, want := plugintest.New("cheap-0", "dear-0", "hot-0"), []plugin.Strategy{&realusage.Args{}, &preferred.Args{}}, tc.want
			if !reliefFirst {
				all[0], all[1], want = all[1], all[0], tc.reverse
			}
			f.Run("web-1", "dear-0", 2000).Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{
				PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 1, Preference: v1.NodeSelectorTerm{
					MatchExpressions: []v1.NodeSelectorRequirement{{Key: "pool", Operator: v1.NodeSelectorOpIn, Values: []string{"cheap"}}},
				}}},
			}}
			f.Run("a-1", "hot-0", 2000)
			f.Run("stays-1", "hot-0", 4500)
			f.Refused["stays-1"] = reasons.ProtectedByDefaultEvictor
			f.Node("hot-0").State, f.Node("dear-0").State = thresholds.Hot, thresholds.Warm
			tc.change(f)
			half, plugins := f.Plugins(t, all...)
			cycle, supposed := &previewing{}, []strategies.Move(nil)
			for _, p := range plugins {
				more, err := PlanAndMake(t.Context(), half, cycle, p, f.Nodes(), supposed)
				if err != nil {
					t.Fatal(err)
				}
				supposed = append(supposed, more...)
			}
			if diff := cmp.Diff(want, cycle.moves); diff != "" {
				t.Errorf("%s, relief first %t: planned (-want +got):\n%s", name, reliefFirst, diff)
			}
			study := f.Explain(t, "", all...)
			if diff := cmp.Diff(want, plugintest.Moves(&study.Made)); diff != "" {
				t.Errorf("%s, relief first %t: explained (-want +got):\n%s", name, reliefFirst, diff)
			}
		}
	}
}
