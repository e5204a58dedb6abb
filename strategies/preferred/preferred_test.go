package preferred

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/forecast"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin/plugintest"
)

const (
	cheap = "cheap-0"
	dear  = "dear-0"
)

// fleet has an idle cheap node and an expensive node. A pod without preferences runs on the
// expensive node, and so do two pods that prefer cheap nodes with a weight of 50. These use one
// core, and one and a half at their peaks.
type fleet struct {
	*plugintest.Fleet
	args Args
}

func newFleet() *fleet {
	f := &fleet{Fleet: plugintest.New(cheap, dear)}
	for _, name := range []string{"web-1", "web-2", "other-1"} {
		pod := f.Run(name, dear, 1000)
		pod.PeakMilliCores = 1500
		if name != "other-1" {
			pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{
				Weight: 50, Preference: v1.NodeSelectorTerm{MatchExpressions: []v1.NodeSelectorRequirement{{Key: "pool", Operator: v1.NodeSelectorOpIn, Values: []string{"cheap"}}}},
			}}}}
		}
	}
	return f
}

// Pods go to a cool node that they prefer. They stay if their preference is unknown or too weak, or
// if the node is not cool or has no space for their peak.
func TestPodsReturnToPreferredNodes(t *testing.T) {
	both := []string{"web-1: dear-0 -> cheap-0", "web-2: dear-0 -> cheap-0"}
	for name, tc := range map[string]struct {
		change func(*fleet)
		want   []string
		// stays is why the pod web-2 is not moved. landing, if set, is why the other node does not
		// accept it.
		stays, landing reasons.Reason
	}{
		"the preferred node is cool":                 {func(*fleet) {}, both, "", ""},
		"it is warm":                                 {func(f *fleet) { f.Node(cheap).State = thresholds.Warm }, nil, reasons.NotPreferred, reasons.NodeNotCool},
		"it is unknown":                              {func(f *fleet) { f.Node(cheap).State = thresholds.Unknown }, nil, reasons.NotPreferred, reasons.NodeNotCool},
		"it is cordoned":                             {func(f *fleet) { f.Node(cheap).Spec.Unschedulable = true }, nil, reasons.NotPreferred, reasons.NodeClosed},
		"pods recently left it":                      {func(f *fleet) { f.Observed.Relieved = map[string]bool{cheap: true} }, nil, reasons.NotPreferred, reasons.NodeJustRelieved},
		"the usage of their node is unknown":         {func(f *fleet) { f.Node(dear).State = thresholds.Unknown }, nil, "", ""},
		"nothing may be evicted":                     {func(f *fleet) { f.Observed.Closed = "OutsideWindow" }, nil, "", ""},
		"a weight of 50 is not enough":               {func(f *fleet) { f.args.MinWeightGained = 51 }, nil, reasons.NotPreferred, reasons.NotPreferred},
		"it has space for one at its peak":           {func(f *fleet) { f.Node(cheap).Uses[cluster.CPU] = 4000 }, both[:1], reasons.NoLanding, ""},
		"its pods were busy recently":                {func(f *fleet) { f.busy(8500, 4500, 4500) }, nil, reasons.NoLanding, reasons.AboveRejectLine},
		"it was busy because of pods that have left": {func(f *fleet) { f.busy(8500, 1000, 1000) }, both, "", ""},
		"its pods were busy one after the other":     {func(f *fleet) { f.busy(3000, 4500, 4500) }, both, "", ""},
		"its pods are expected to be busy":           {func(f *fleet) { f.busy(0, 500).Expected = forecast.Constant(5500) }, nil, reasons.NoLanding, reasons.AboveRejectLine},
		"it was moved within a day":                  {func(f *fleet) { f.Observed.Moved = map[string]bool{"web-2": true} }, both[:1], reasons.MovedLately, ""},
		"it has space for one of two that are busy at once": {func(f *fleet) {
			for _, pod := range f.Node(dear).Pods {
				pod.PeakMilliCores = 4000
			}
		}, both[:1], reasons.NoLanding, ""},
		"it is full for kube-scheduler": {func(f *fleet) {
			for _, pod := range f.Node(dear).Pods {
				pod.Spec.NodeSelector = map[string]string{"pool": "dear"}
			}
		}, nil, reasons.NoLanding, reasons.FilterRefuses},
		"they must not be moved": {func(f *fleet) {
			f.Refused["web-1"], f.Refused["web-2"] = reasons.OwnerCoolingDown, reasons.OwnerCoolingDown
		}, nil, reasons.OwnerCoolingDown, ""},
		"one move is allowed": {func(f *fleet) { f.Options.MaxMoves = 1 }, both[:1], reasons.MoveLimit, ""},
		"one move is left in the hour": {func(f *fleet) {
			f.Observed.Beside = func(_ *cluster.Pod, ofOwner, _ int) (reasons.Reason, string) {
				if ofOwner > 0 {
					return reasons.OwnerMovesPerHour, ""
				}
				return "", ""
			}
		}, both[:1], reasons.OwnerMovesPerHour, ""},
		"their namespace is excluded": {func(f *fleet) { f.args.EvictableNamespaces = &api.Namespaces{Exclude: []string{"shop"}} }, nil, reasons.NamespaceExcluded, ""},
		"they are there already":      {func(f *fleet) { f.Node(dear).Labels["pool"] = "cheap" }, nil, reasons.NotPreferred, reasons.NotPreferred},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet()
			tc.change(f)
			study := f.Explain(t, "web-2", &f.args)
			for i := range study.Made.Plan.Moves {
				if m := &study.Made.Plan.Moves[i]; m.Reason != reasons.PreferredNode || m.ToAfter[cluster.CPU] <= m.ToBefore[cluster.CPU] {
					t.Errorf("%s: %s, destination %v -> %v", m.Name, m.Reason, m.ToBefore, m.ToAfter)
				}
			}
			if diff := cmp.Diff(tc.want, plugintest.Moves(&study.Made)); diff != "" {
				t.Errorf("moves (-want +got):\n%s", diff)
			}
			if why := stays(&study, "web-2"); why != tc.stays {
				t.Errorf("web-2 stays for %q, want %q", why, tc.stays)
			}
			if tc.landing != "" && (len(study.Landings) != 1 || study.Landings[0].Refused != tc.landing) {
				t.Errorf("landings %+v, want one refused for %s", study.Landings, tc.landing)
			}
		})
	}
}

// busy runs pods on the cheap node that currently use half a core each. In the last hours, the
// usage of the pods and that of the node had the given peaks. It returns the last pod.
func (f *fleet) busy(node int64, pods ...int64) (last *plugintest.Pod) {
	f.Node(cheap).PeakMilliCores = node
	for i, peak := range pods {
		last = f.Run(fmt.Sprintf("resident-%d", i), cheap, 500)
		last.PeakMilliCores = peak
	}
	return last
}

// stays returns why the plan leaves a pod where it is.
func stays(study *strategies.Study, pod string) reasons.Reason {
	if why := plugintest.Declined(&study.Made)[pod]; why != "" {
		return why
	}
	if study.Made.Basis == nil || study.Pod == nil {
		return ""
	}
	why, _ := study.Made.Basis.Stays(study.Pod.Pod)
	return why
}

// A plan does not list pods without preferences.
func TestPodsWithoutPreferencesStay(t *testing.T) {
	f := newFleet()
	study := f.Explain(t, "other-1", &f.args)
	if why, words := study.Made.Basis.Stays(study.Pod.Pod); why != reasons.NotPreferred || words != "it has no preferred node affinity" {
		t.Errorf("stays for %q: %s", why, words)
	}
}

// Once moved, a pod is not moved again.
func TestReturnedPodsStay(t *testing.T) {
	f := newFleet()
	f.Node(cheap).Pods, f.Node(dear).Pods = f.Node(dear).Pods, nil
	for _, pod := range f.Node(cheap).Pods {
		pod.Spec.NodeName = cheap
	}
	if moves := plugintest.Moves(f.Plan(t, &f.args)); moves != nil {
		t.Errorf("planned %q", moves)
	}
}

func TestValidate(t *testing.T) {
	for weight, want := range map[int64]string{
		0: "", 1: "", 10_000: "",
		-1:     "minWeightGained: Invalid value: -1: must be from 1 to 10000",
		10_001: "minWeightGained: Invalid value: 10001: must be from 1 to 10000",
	} {
		got := ""
		if errs := (&Args{MinWeightGained: weight}).Validate(); len(errs) > 0 {
			got = errs.ToAggregate().Error()
		}
		if got != want {
			t.Errorf("%d: %q, want %q", weight, got, want)
		}
	}
}
