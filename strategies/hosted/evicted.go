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

// Destination is where kube-scheduler would put the replacement of an evicted pod.
type Destination struct {
	// Node is empty if no node is expected. None then explains why.
	Node, None string
}

// Destinations returns where the replacements of pods that plugins evict by themselves
// would go, by kube-scheduler's own filters and scores. The pods are evicted in any case,
// so a destination is only a preference.
func Destinations(
	ctx context.Context, half plugin.Half, observed *strategies.Observed, nodes []*v1.Node, assigned podutil.GetPodsAssignedToNodeFunc, pods []*v1.Pod,
) ([]Destination, error) {
	round := plugin.NewRound(half, observed, nodes)
	defer round.Close()
	p, asked := newPlanner(&Plugin{assigned: assigned}, round), []ask{}
	for _, pod := range pods {
		asked = append(asked, ask{pod: pod})
	}
	if err := p.open(ctx, asked); err != nil {
		return nil, err
	}
	all := make([]Destination, len(pods))
	for i, a := range asked {
		if all[i].None = unreplaced(a.pod); all[i].None != "" {
			continue
		}
		w := &wish{ask: a, pod: round.Evicted(a.pod), of: ownerOf(a.pod)}
		if err := p.settle(w); err != nil {
			return nil, err
		}
		switch all[i].Node = w.to; {
		case w.declined == reasons.NoLanding:
			all[i].None = cmp.Or(w.detail, "there is no other node")
		case w.declined != "":
			all[i].None = w.declined.Sentence()
		}
	}
	return all, nil
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
