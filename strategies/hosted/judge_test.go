package hosted_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/removeduplicates"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/hosted"
	"github.com/evenkeel/evenkeel/strategies/plugin"
	"github.com/evenkeel/evenkeel/strategies/plugin/plugintest"
)

// scripted asks to evict the pods that a function of the test names, given the nodes of all pods.
type scripted struct {
	handle frameworktypes.Handle
	asks   func(on map[string]string) (pods []string)
}

func (s *scripted) Name() string { return removeduplicates.PluginName }

func (s *scripted) Balance(ctx context.Context, nodes []*v1.Node) *frameworktypes.Status {
	on, byName := map[string]string{}, map[string]*v1.Pod{}
	for _, node := range nodes {
		pods, err := s.handle.GetPodsAssignedToNodeFunc()(node.Name, s.handle.Evictor().Filter)
		if err != nil {
			return &frameworktypes.Status{Err: err}
		}
		for _, pod := range pods {
			on[pod.Name], byName[pod.Name] = node.Name, pod
		}
	}
	for _, name := range s.asks(on) {
		_ = s.handle.Evictor().Evict(ctx, byName[name], evictions.EvictOptions{}) // upstream's plugins log the error and continue
	}
	return nil
}

// plan plans the evictions that a scripted plugin asks for.
func plan(t *testing.T, fleet *plugintest.Fleet, asks func(on map[string]string) []string) *strategies.Made {
	t.Helper()
	half, _ := fleet.Plugins(t)
	build := func(_ context.Context, _ runtime.Object, handle frameworktypes.Handle) (frameworktypes.Plugin, error) {
		return &scripted{handle, asks}, nil
	}
	p, err := hosted.New(t.Context(), removeduplicates.PluginName, build, nil, fleet.Handle(t), plugin.Deps{Half: half, Options: fleet.Options})
	if err != nil {
		t.Fatal(err)
	}
	made, err := p.Plan(t.Context(), &fleet.Observed, fleet.Nodes())
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// asksFor returns a function that names those of the pods that are on their first node.
func asksFor(pods ...string) func(on map[string]string) []string {
	return func(on map[string]string) (asked []string) {
		for _, pod := range pods {
			if on[pod] == "node-0" {
				asked = append(asked, pod)
			}
		}
		return asked
	}
}

// crowd puts pods on the first of several nodes.
func crowd(pods ...string) *plugintest.Fleet {
	fleet := plugintest.New("node-0", "node-1", "node-2", "node-3")
	for _, pod := range pods {
		fleet.Run(pod, "node-0", 100)
	}
	return fleet
}

// The moves of one owner are made even if those of another owner in its namespace do not help or
// cause harm.
func TestOwnersOfANamespaceAreJudgedApart(t *testing.T) {
	for name, asks := range map[string]func(on map[string]string) []string{
		"the other's move makes it worse": func(on map[string]string) []string {
			asked := append(asksFor("a-1", "b-1")(on), asksFor("c-1")(on)...)
			if on["b-1"] != "node-0" {
				asked = append(asked, "b-1", "b-2", "b-3")
			}
			return asked
		},
		"the other's move does harm to a third owner": func(on map[string]string) []string {
			asked := asksFor("a-1", "b-1", "c-1")(on)
			if on["b-1"] != "node-0" {
				asked = append(asked, "d-1", "d-2", "d-3", "d-4")
			}
			return asked
		},
	} {
		made := plan(t, crowd("a-1", "b-1", "b-2", "b-3", "c-1", "d-1", "d-2", "d-3", "d-4"), asks)
		if diff := cmp.Diff([]string{"a-1: node-0 -> node-1", "c-1: node-0 -> node-1"}, plugintest.Moves(made)); diff != "" {
			t.Errorf("%s: moves (-want +got):\n%s\ndeclined %v", name, diff, plugintest.Declined(made))
		}
	}
}

// A plan has no more moves than the limits allow, and moves that do not help take no place in it.
func TestLimitsAreKeptAfterJudging(t *testing.T) {
	// a-1 helps nobody: its owner's other pod is asked for instead.
	asks := func(on map[string]string) []string {
		asked := asksFor("a-1", "b-1", "c-1", "d-1")(on)
		if on["a-1"] != "node-0" {
			asked = append(asked, "a-2")
		}
		return asked
	}
	cases := map[string]struct {
		limit    func(*plugintest.Fleet)
		want     []string
		declined map[string]reasons.Reason
	}{
		"none": {
			limit: func(*plugintest.Fleet) {},
			want:  []string{"b-1: node-0 -> node-1", "c-1: node-0 -> node-1", "d-1: node-0 -> node-1"},
		},
		"of a cycle": {
			limit:    func(f *plugintest.Fleet) { f.Options.MaxMoves = 1 },
			want:     []string{"b-1: node-0 -> node-1"},
			declined: map[string]reasons.Reason{"c-1": reasons.MoveLimit, "d-1": reasons.MoveLimit},
		},
		"of what is left of the hour": {
			limit:    func(f *plugintest.Fleet) { f.Options.MaxMoves, f.Observed.MaxMoves = 3, 2 },
			want:     []string{"b-1: node-0 -> node-1", "c-1: node-0 -> node-1"},
			declined: map[string]reasons.Reason{"d-1": reasons.MoveLimit},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			fleet := crowd("a-1", "a-2", "b-1", "c-1", "d-1")
			tc.limit(fleet)
			made := plan(t, fleet, asks)
			if diff := cmp.Diff(tc.want, plugintest.Moves(made)); diff != "" {
				t.Errorf("moves (-want +got):\n%s", diff)
			}
			declined := plugintest.Declined(made)
			delete(declined, "a-1")
			if diff := cmp.Diff(tc.declined, declined, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("declined (-want +got):\n%s", diff)
			}
		})
	}
}

// Limits and refusals may end a plan after any of its moves, so each move must help given those
// before it. Moves that help only together are not made.
func TestEachMoveHelpsAfterThoseBeforeIt(t *testing.T) {
	for name, tc := range map[string]struct {
		asks func(on map[string]string) []string
		want []string
	}{
		"the last one helps first": {func(on map[string]string) []string {
			if asked := asksFor("a-1", "a-2", "a-3")(on); on["a-3"] != "node-0" {
				return asked
			}
			return []string{"a-1", "a-2", "a-3"}
		}, []string{"a-3", "a-1", "a-2"}},
		"two help only together": {func(on map[string]string) []string {
			if on["a-1"] != "node-0" && on["a-2"] != "node-0" {
				return nil
			}
			return []string{"a-1", "a-2"}
		}, nil},
		"two help only together, after one that helps alone": {func(on map[string]string) []string {
			switch asked := asksFor("a-1", "a-2")(on); {
			case on["a-3"] == "node-0":
				return []string{"a-1", "a-2", "a-3"}
			case len(asked) == 0:
				return nil
			}
			return []string{"a-1", "a-2"}
		}, []string{"a-3"}},
	} {
		made := plan(t, crowd("a-1", "a-2", "a-3"), tc.asks)
		var got []string
		for i := range made.Plan.Moves {
			got = append(got, made.Plan.Moves[i].Name)
		}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: moves (-want +got):\n%s\ndeclined %v", name, diff, plugintest.Declined(made))
		}
	}
}

// A pod that the plugin would evict, but that stays, says which plugin asks, and where its
// replacement would go.
func TestWhyAPodStays(t *testing.T) {
	made := plan(t, crowd("a-1"), func(map[string]string) []string { return []string{"a-1"} })
	if len(made.Plan.Declined) != 1 {
		t.Fatalf("declined %v", plugintest.Declined(made))
	}
	const want = "RemoveDuplicates asks for its eviction, but it would go to node-1, and the plugin would then ask for 1 pod of its owner again"
	if d := &made.Plan.Declined[0]; d.Plugin != removeduplicates.PluginName || d.Detail != want {
		t.Errorf("plugin %q, detail %q", d.Plugin, d.Detail)
	}
}
