package owners

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evenkeel/evenkeel/reasons"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const settle = 3 * time.Minute

// refuses returns the reason of an Owner that applies to all its pods.
func refuses(o Owner) reasons.Reason {
	o.UID = "owner"
	reason, _ := o.Refuses(noon, settle)
	return reason
}

func controlledBy(kind, name string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{Kind: kind, Name: name, UID: "parent", Controller: new(true)}}
}

// A ReplicaSet is one version of its Deployment or Argo Rollout, which states on each ReplicaSet
// how many pods all versions have together.
func TestReplicaSets(t *testing.T) {
	of := func(kind string, annotations map[string]string, wants, has int32) *appsv1.ReplicaSet {
		set := &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Annotations: annotations, Generation: 4},
			Spec:       appsv1.ReplicaSetSpec{Replicas: &wants},
			Status:     appsv1.ReplicaSetStatus{ObservedGeneration: 4, Replicas: has},
		}
		if kind != "" {
			set.OwnerReferences = controlledBy(kind, "web")
		}
		return set
	}
	deployment := func(n string) map[string]string { return map[string]string{desiredByDeployment: n} }
	rollout := func(n string) map[string]string { return map[string]string{desiredByRollout: n} }
	unseen := of("Deployment", deployment("3"), 3, 3)
	unseen.Generation = 5
	for name, tc := range map[string]struct {
		set  *appsv1.ReplicaSet
		want reasons.Reason
	}{
		"of an idle Deployment":                           {of("Deployment", deployment("3"), 3, 3), ""},
		"of a Deployment during its rollout":              {of("Deployment", deployment("10"), 3, 3), reasons.OwnerRollingOut},
		"of an idle, paused Deployment":                   {of("Deployment", deployment("3"), 3, 2), ""},
		"of an idle Rollout":                              {of("Rollout", rollout("10"), 10, 10), ""},
		"canary of a Rollout":                             {of("Rollout", rollout("10"), 3, 3), reasons.OwnerRollingOut},
		"stable ReplicaSet of a Rollout during an update": {of("Rollout", rollout("10"), 7, 7), reasons.OwnerRollingOut},
		"of a Rollout, adopted from a Deployment":         {of("Rollout", map[string]string{desiredByRollout: "10", desiredByDeployment: "3"}, 10, 10), ""},
		"adopted, in the middle":                          {of("Rollout", map[string]string{desiredByRollout: "10", desiredByDeployment: "3"}, 3, 3), reasons.OwnerRollingOut},
		"of a Deployment that was a Rollout":              {of("Deployment", map[string]string{desiredByRollout: "10", desiredByDeployment: "3"}, 3, 3), ""},
		"an unreadable number":                            {of("Deployment", deployment("many"), 3, 3), ""},
		"without a controller":                            {of("", nil, 3, 3), ""},
		"more pods than it wants":                         {of("Rollout", rollout("3"), 3, 4), reasons.OwnerScaledDown},
		"a change that its controller has not seen":       {unseen, reasons.OwnerRollingOut},
	} {
		t.Run(name, func(t *testing.T) {
			if got := refuses(OfReplicaSet(tc.set)); got != tc.want {
				t.Errorf("refused for %q, want %q", got, tc.want)
			}
		})
	}
}

// A ReplicationController may be one version of an OpenShift DeploymentConfig.
func TestReplicationControllers(t *testing.T) {
	in := func(phase string, wants, has int32) *v1.ReplicationController {
		return &v1.ReplicationController{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{deploymentPhase: phase}},
			Spec:       v1.ReplicationControllerSpec{Replicas: &wants}, Status: v1.ReplicationControllerStatus{Replicas: has},
		}
	}
	for name, tc := range map[string]struct {
		set  *v1.ReplicationController
		want reasons.Reason
	}{
		"at rest":                 {in("Complete", 3, 3), ""},
		"of no DeploymentConfig":  {in("", 3, 3), ""},
		"a rollout that begins":   {in("New", 3, 3), reasons.OwnerRollingOut},
		"a rollout that waits":    {in("Pending", 3, 3), reasons.OwnerRollingOut},
		"a rollout that runs":     {in("Running", 3, 3), reasons.OwnerRollingOut},
		"more pods than it wants": {in("Complete", 2, 3), reasons.OwnerScaledDown},
	} {
		t.Run(name, func(t *testing.T) {
			if got := refuses(OfReplicationController(tc.set)); got != tc.want {
				t.Errorf("refused for %q, want %q", got, tc.want)
			}
		})
	}
}

// member returns a pod of a set that has been ready for an hour.
func member(i int) *v1.Pod {
	name := fmt.Sprint("db-", i)
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Status: v1.PodStatus{Phase: v1.PodRunning, Conditions: []v1.PodCondition{
			{Type: v1.PodReady, Status: v1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(-time.Hour))},
		}},
	}
}

func down(pod *v1.Pod) { pod.Status.Conditions[0].Status = v1.ConditionFalse }

func terminating(pod *v1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: noon} }

func failed(pod *v1.Pod) {
	down(pod)
	pod.Status.Phase = v1.PodFailed
}

func readyFor(age time.Duration) func(*v1.Pod) {
	return func(pod *v1.Pod) { pod.Status.Conditions[0].LastTransitionTime = metav1.NewTime(noon.Add(-age)) }
}

// An ordered StatefulSet creates a pod only once the pods of all lower ordinals are available, so a
// missing pod waits for all lower ones that are unavailable.
func TestStatefulSetsInOrder(t *testing.T) {
	set := func(change ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
		s := &appsv1.StatefulSet{
			Spec:   appsv1.StatefulSetSpec{Replicas: new(int32(10)), PodManagementPolicy: appsv1.OrderedReadyPodManagement},
			Status: appsv1.StatefulSetStatus{Replicas: 10},
		}
		for _, c := range change {
			c(s)
		}
		return s
	}
	parallel := func(s *appsv1.StatefulSet) { s.Spec.PodManagementPolicy = appsv1.ParallelPodManagement }
	unstated := func(s *appsv1.StatefulSet) { s.Spec.PodManagementPolicy = "" }
	severalAtOnce := func(s *appsv1.StatefulSet) {
		s.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{MaxUnavailable: new(intstr.FromInt32(3))}
	}
	slow := func(s *appsv1.StatefulSet) { s.Spec.MinReadySeconds = 600 }
	from := func(first int32) func(*appsv1.StatefulSet) {
		return func(s *appsv1.StatefulSet) { s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: first} }
	}
	for name, tc := range map[string]struct {
		set    *appsv1.StatefulSet
		first  int // the lowest ordinal that has a pod
		change map[int]func(*v1.Pod)
		gone   int // the ordinal whose pod is absent; -1 for none
		left   int // the ordinal of a pod that was just evicted; -1 for none
		move   int
		want   reasons.Reason
	}{
		"all are available":                    {set: set(), gone: -1, left: -1, move: 7},
		"a lower one is down":                  {set: set(), gone: -1, left: -1, change: map[int]func(*v1.Pod){3: down}, move: 7, want: reasons.OwnerCreatesInOrder},
		"the lowest is down":                   {set: set(), gone: -1, left: -1, change: map[int]func(*v1.Pod){0: down}, move: 1, want: reasons.OwnerCreatesInOrder},
		"it is down itself":                    {set: set(), gone: -1, left: -1, change: map[int]func(*v1.Pod){7: down}, move: 7},
		"a higher one is down":                 {set: set(), gone: -1, left: -1, change: map[int]func(*v1.Pod){9: down}, move: 7},
		"a lower one terminates":               {set: set(), gone: -1, left: -1, change: map[int]func(*v1.Pod){3: terminating}, move: 7, want: reasons.OwnerCreatesInOrder},
		"a lower one has failed":               {set: set(), gone: -1, left: -1, change: map[int]func(*v1.Pod){3: failed}, move: 7, want: reasons.OwnerCreatesInOrder},
		"a lower one is absent":                {set: set(), gone: 3, left: -1, move: 7, want: reasons.OwnerCreatesInOrder},
		"a lower one was evicted":              {set: set(), gone: -1, left: 3, move: 7, want: reasons.OwnerCreatesInOrder},
		"a higher one terminates":              {set: set(), gone: -1, left: -1, change: map[int]func(*v1.Pod){9: terminating}, move: 7, want: reasons.OwnerCreatesInOrder},
		"a higher one is absent":               {set: set(), gone: 9, left: -1, move: 7, want: reasons.OwnerCreatesInOrder},
		"a higher one was evicted":             {set: set(), gone: -1, left: 9, move: 7, want: reasons.OwnerCreatesInOrder},
		"parallel, a lower one is down":        {set: set(parallel), gone: -1, left: -1, change: map[int]func(*v1.Pod){3: down}, move: 7},
		"parallel, a lower one is absent":      {set: set(parallel), gone: 3, left: -1, move: 7},
		"no policy is stated":                  {set: set(unstated), gone: -1, left: -1, change: map[int]func(*v1.Pod){3: down}, move: 7, want: reasons.OwnerCreatesInOrder},
		"maxUnavailable is for updates":        {set: set(severalAtOnce), gone: -1, left: -1, change: map[int]func(*v1.Pod){3: down}, move: 7, want: reasons.OwnerCreatesInOrder},
		"a lower one is ready, not available":  {set: set(slow), gone: -1, left: -1, change: map[int]func(*v1.Pod){3: readyFor(10 * time.Second)}, move: 7, want: reasons.OwnerCreatesInOrder},
		"a lower one is available":             {set: set(slow), gone: -1, left: -1, change: map[int]func(*v1.Pod){3: readyFor(11 * time.Minute)}, move: 7},
		"numbered from 5":                      {set: set(from(5)), first: 5, gone: -1, left: -1, move: 7},
		"numbered from 5, a lower one is down": {set: set(from(5)), first: 5, gone: -1, left: -1, change: map[int]func(*v1.Pod){5: down}, move: 14, want: reasons.OwnerCreatesInOrder},
		"numbered from 5 by now":               {set: set(from(5)), first: 0, gone: -1, left: -1, move: 4, want: reasons.OwnerScaledDown},
		"above the highest wanted ordinal":     {set: set(), first: 5, gone: -1, left: -1, move: 10, want: reasons.OwnerScaledDown},
		"an untold number of absent ones": {set: set(func(s *appsv1.StatefulSet) { *s.Spec.Replicas = 2_000_000_000 }), gone: -1, left: -1, move: 7,
			want: reasons.OwnerCreatesInOrder},
	} {
		t.Run(name, func(t *testing.T) {
			var pods []*v1.Pod
			var moved *v1.Pod
			for i := tc.first; i < tc.first+10; i++ {
				pod := member(i)
				if change := tc.change[i]; change != nil {
					change(pod)
				}
				if i == tc.move {
					moved = pod
				}
				if i != tc.gone {
					pods = append(pods, pod)
				}
			}
			o := OfStatefulSet(tc.set, moved)
			o.Replicas = Wanted(tc.set)
			got := refuses(o)
			if got == "" {
				got = o.Recreates(moved, o.Count(pods, func(uid string) bool { return uid == fmt.Sprint("db-", tc.left) }, noon))
			}
			if got != tc.want {
				t.Errorf("refused for %q, want %q", got, tc.want)
			}
		})
	}
}

// A ready pod is not available before minReadySeconds have passed. If the time was not stored, it
// was within a minute of the pod's start.
func TestAvailable(t *testing.T) {
	unknownSince := func(age time.Duration) func(*v1.Pod) {
		return func(pod *v1.Pod) {
			pod.Status.Conditions[0].LastTransitionTime = metav1.Time{}
			pod.Status.StartTime = &metav1.Time{Time: noon.Add(-age)}
		}
	}
	never := func(pod *v1.Pod) { pod.Status.Conditions[0].LastTransitionTime = metav1.Time{} }
	for name, tc := range map[string]struct {
		wait   time.Duration
		change func(*v1.Pod)
		want   bool
	}{
		"ready just now":               {0, readyFor(0), true},
		"down":                         {0, down, false},
		"ready for long enough":        {10 * time.Minute, readyFor(10 * time.Minute), true},
		"not yet":                      {10 * time.Minute, readyFor(599 * time.Second), false},
		"by a clock that is ahead":     {10 * time.Minute, readyFor(-time.Minute), false},
		"time not stored, started now": {10 * time.Minute, unknownSince(10*time.Minute + 59*time.Second), false},
		"time not stored, long ago":    {10 * time.Minute, unknownSince(11 * time.Minute), true},
		"nothing is stored":            {10 * time.Minute, never, false},
		"and nothing is asked":         {0, never, true},
	} {
		t.Run(name, func(t *testing.T) {
			pod := member(0)
			tc.change(pod)
			o := Owner{MinReady: tc.wait}
			if got := o.Available(pod, noon); got != tc.want {
				t.Errorf("available: %v", got)
			}
		})
	}
}

// Each watched kind states how long a pod must have been ready.
func TestMinReadySeconds(t *testing.T) {
	for kind, o := range map[string]Owner{
		"ReplicaSet":            OfReplicaSet(&appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{MinReadySeconds: 90}}),
		"ReplicationController": OfReplicationController(&v1.ReplicationController{Spec: v1.ReplicationControllerSpec{MinReadySeconds: 90}}),
		"StatefulSet":           OfStatefulSet(&appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{MinReadySeconds: 90}}, member(0)),
	} {
		if o.MinReady != 90*time.Second {
			t.Errorf("%s: %v", kind, o.MinReady)
		}
	}
}

// A time far in the future comes from a wrong clock and does not make an owner settle until then.
func TestOwnersDoNotSettleForAWrongClock(t *testing.T) {
	for name, at := range map[string]func(time.Time) Owner{
		"created":    func(at time.Time) Owner { return Owner{UID: "o", Created: at} },
		"scaled":     func(at time.Time) Owner { return Owner{UID: "o", Scaled: at} },
		"rolled out": func(at time.Time) Owner { return Owner{UID: "o", RolledOut: at} },
	} {
		for ahead, want := range map[time.Duration]bool{0: true, time.Minute: true, 6 * time.Hour: false} {
			o := at(noon.Add(ahead))
			if got, _ := o.Refuses(noon, settle); (got != "") != want {
				t.Errorf("%s %v from now: refused for %q, want a refusal: %v", name, ahead, got, want)
			}
		}
	}
}

// Pods that would be evicted count like those that are leaving.
func TestTallyWithPodsAway(t *testing.T) {
	o := &Owner{MinReady: time.Minute}
	var pods []*v1.Pod
	for i, change := range []func(*v1.Pod){
		readyFor(time.Hour), readyFor(time.Hour), readyFor(time.Hour), readyFor(time.Second), // the last one is young
		failed, down,
	} {
		pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("web-", i), UID: types.UID(fmt.Sprint("web-", i))}}
		pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}
		change(pod)
		pods = append(pods, pod)
	}
	none := o.Count(pods, func(string) bool { return false }, noon)
	if none.Available != 3 || none.Missing != 2 {
		t.Fatalf("%d are available and %d missing, want 3 and 2", none.Available, none.Missing)
	}
	for away := range 3 + 1 {
		want := o.Count(pods, func(uid string) bool { return uid < fmt.Sprint("web-", away) }, noon)
		if got := none.WithAway(away); got != want {
			t.Errorf("with %d away %+v, want %+v", away, got, want)
		}
	}
	if got, want := none.WithAway(99), none.WithAway(3); got != want {
		t.Errorf("with more away than there are %+v, want %+v", got, want)
	}
}
