package placement

import (
	"cmp"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// preFilter computes the state for a replacement in a world.
func (f *Filters) preFilter(t *template, w world) *state {
	f.snapshot.focus(t, w)
	cycle := framework.NewCycleState()
	result, status, plugins := f.plugins.RunPreFilterPlugins(f.ctx, cycle, t.replacement)
	st := &state{cycle: cycle, skip: cycle.GetSkipFilterPlugins(), plugins: strings.Join(sets.List(plugins), ", ")}
	if !status.IsSuccess() {
		v := refusalOf(status)
		v.Plugin = cmp.Or(v.Plugin, st.plugins)
		st.refused = &v
		return st
	}
	if !result.AllNodes() {
		st.nodes = result.NodeNames
	}
	if w == terminating {
		return st.unspread()
	}
	return st
}

// unspread returns the state without spread constraints. They do not count
// terminating pods (kubernetes/kubernetes#87621), so they are judged in the
// world gone only.
func (st *state) unspread() *state {
	if st.skip.Has(names.PodTopologySpread) {
		return st
	}
	derived := *st
	derived.skip = st.skip.Union(sets.New(names.PodTopologySpread))
	return &derived
}

// without derives the state without a pod from the state with it.
func (f *Filters) without(st *state, replacement *v1.Pod, p *podEntry) *state {
	if st.refused != nil {
		return st
	}
	derived := *st
	derived.cycle = st.cycle.Clone()
	derived.cycle.SetSkipFilterPlugins(st.skip)
	status := f.plugins.RunPreFilterExtensionRemovePod(f.ctx, derived.cycle, replacement, p, p.node.view)
	if !status.IsSuccess() {
		v := refusalOf(status)
		derived.refused = &v
	}
	return &derived
}

// filter runs the plugins for one node.
func (f *Filters) filter(st *state, replacement *v1.Pod, info *framework.NodeInfo) Result {
	if st.refused != nil {
		return *st.refused
	}
	if st.nodes != nil && !st.nodes.Has(info.Node().Name) {
		return Result{Plugin: st.plugins, Reason: "the pod may run on named nodes only, and this is not one of them"}
	}
	st.cycle.SetSkipFilterPlugins(st.skip)
	if status := f.plugins.RunFilterPlugins(f.ctx, st.cycle, replacement, info); !status.IsSuccess() {
		return refusalOf(status)
	}
	return Result{OK: true}
}
