package realusage

import (
	"testing"

	v1 "k8s.io/api/core/v1"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// Pods that the policy spares stay, even if moving a single one would suffice. Other pods on their
// node are moved instead.
func TestPodsThatThePolicySparesStay(t *testing.T) {
	for want, spare := range map[reasons.Reason]func(*v1.Pod){
		reasons.NamespaceExcluded:   func(pod *v1.Pod) { pod.Namespace = "excluded" },
		reasons.SchedulerNotSteered: func(pod *v1.Pod) { pod.Spec.SchedulerName = "another" },
		reasons.JobPod:              func(pod *v1.Pod) { pod.OwnerReferences[0].Kind = "Job" },
		reasons.DaemonSetPod:        func(pod *v1.Pod) { pod.OwnerReferences[0].Kind = "DaemonSet" },
		reasons.NoController:        func(pod *v1.Pod) { pod.OwnerReferences = nil },
		reasons.MirrorPod:           func(pod *v1.Pod) { pod.Annotations = map[string]string{v1.MirrorPodAnnotationKey: "x"} },
		reasons.PodStarting:         func(*v1.Pod) {},
		reasons.PodUsageUnknown:     func(*v1.Pod) {},
	} {
		y := newYard(t, func(pod *v1.Pod) {
			if pod.Name == biggest {
				spare(pod)
			}
		})
		y.args.EvictableNamespaces = &api.Namespaces{Exclude: []string{"excluded"}}
		read := &y.observed.View.Nodes[0].Pods[2]
		read.Starting, read.Measured = want == reasons.PodStarting, want != reasons.PodUsageUnknown
		study := y.study(t, 0, 2)
		moves := study.Made.Plan.Moves
		if study.Pod == nil || study.Pod.Refused != want || len(moves) != 1 || moves[0].Name == biggest {
			t.Errorf("%s: planned %+v, explained as %+v", want, moves, study.Pod)
		}
	}
}

// evictJobs does not apply to a Job of another API group, which recreatingControllers must name.
func TestJobsOfOthers(t *testing.T) {
	for apiVersion, want := range map[string]reasons.Reason{"batch/v1": reasons.JobPod, "batch.volcano.sh/v1alpha1": reasons.ControllerUnknown} {
		y := newYard(t, func(pod *v1.Pod) {
			if pod.Name == biggest {
				pod.OwnerReferences[0].APIVersion, pod.OwnerReferences[0].Kind = apiVersion, "Job"
			}
		})
		if study := y.study(t, 0, 2); study.Pod == nil || study.Pod.Refused != want {
			t.Errorf("%s: explained as %+v, want %q", apiVersion, study.Pod, want)
		}
	}
}

// Nodes of another zone or capacity type belong to the same domain only if the policy allows it.
func TestWithinGoesByThePolicy(t *testing.T) {
	for name, tc := range map[string]struct {
		acrossZones, acrossTypes bool
		oneZone, oneType         bool
	}{
		"both bind":        {},
		"across zones":     {acrossZones: true, oneZone: true},
		"across types":     {acrossTypes: true, oneType: true},
		"across all there": {acrossZones: true, acrossTypes: true, oneZone: true, oneType: true},
	} {
		o := &plugin.Options{AcrossZones: tc.acrossZones, AcrossCapacityTypes: tc.acrossTypes}
		here, _ := o.Within(cluster.Site{Zone: "a"})
		zone, _ := o.Within(cluster.Site{Zone: "b"})
		spot, _ := o.Within(cluster.Site{Zone: "a", Spot: true})
		if (here == zone) != tc.oneZone || (here == spot) != tc.oneType {
			t.Errorf("%s: domains %q, of another zone %q, of another type %q", name, here, zone, spot)
		}
	}
}
