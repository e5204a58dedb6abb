package hosted

import (
	"cmp"
	"context"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilpod "k8s.io/kubernetes/pkg/api/v1/pod"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/podlifetime"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/removefailedpods"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/removepodshavingtoomanyrestarts"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/removepodsviolatingnodetaints"

	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// whys explains why the plugins that are not in rules evict a pod, because they give no
// reasons themselves.
var whys = map[string]string{
	removepodsviolatingnodetaints.PluginName:   "it does not tolerate a taint of its node",
	removepodshavingtoomanyrestarts.PluginName: "its containers have restarted too often",
	podlifetime.PluginName:                     "it is too old, or in a state in which pods are replaced",
	removefailedpods.PluginName:                "it has failed",
}

// Why returns why a descheduler plugin evicts a pod: the reason that it gives, or one for
// the plugin.
func Why(name, given string) string {
	return cmp.Or(given, whys[name], name+" asks for its eviction")
}

// Places finds destinations for the pods that plugins evict by themselves in one turn of a
// cycle. The pods are evicted in any case, so a destination is only a preference.
type Places struct{ planner *planner }

// NewPlaces returns the Places of a turn that begins with an observation.
func NewPlaces(half plugin.Half, observed *strategies.Observed, nodes []*v1.Node, assigned podutil.GetPodsAssignedToNodeFunc) *Places {
	return &Places{newPlanner(&Plugin{assigned: assigned}, plugin.NewRound(half, observed, nodes))}
}

// Find returns where kube-scheduler's own filters and scores would put a pod's
// replacement. The replacements of earlier pods count where they are expected.
func (p *Places) Find(ctx context.Context, pod *v1.Pod) (to strategies.Destination, err error) {
	if to.None = unreplaced(pod); to.None != "" {
		return to, nil
	}
	plan := p.planner
	defer plan.round.Close() // until the next pod, others may use the filters
	if plan.ranked == nil {
		err = plan.open(ctx, nil)
	} else {
		plan.session, err = plan.round.Placement(ctx)
	}
	if err != nil {
		return to, err
	}
	w := &wish{ask: ask{pod: pod}, pod: plan.round.Evicted(pod), of: ownerOf(pod)}
	if err := plan.settle(w); err != nil {
		return to, err
	}
	switch to.Node, to.Usage = w.to, w.pod.Usage; w.declined {
	case "":
	case reasons.NoLanding:
		to.None = cmp.Or(w.detail, "there is no other node")
	default:
		to.None = w.stays()
	}
	return to, nil
}

// Suppose makes the replacement of a move that is not made count at its destination.
func (p *Places) Suppose(move *strategies.Move) {
	observed := &p.planner.round.Observed
	observed.Supposed = append(observed.Supposed, *move)
}

// unreplaced explains why a pod gets no replacement on another node; empty if it may.
func unreplaced(pod *v1.Pod) string {
	owner := metav1.GetControllerOfNoCopy(pod)
	switch {
	case utilpod.IsPodTerminal(pod):
		return "it has ended, so nothing takes its place"
	case owner == nil:
		return reasons.NoController.Sentence()
	case owner.Kind == "DaemonSet":
		return reasons.DaemonSetPod.Sentence()
	}
	return ""
}
