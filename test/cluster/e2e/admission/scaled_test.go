package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
)

// change patches a Deployment.
func change(t *testing.T, f *stage.Fixture, deployment, format string, args ...any) {
	t.Helper()
	patch := fmt.Appendf(nil, format, args...)
	if _, err := f.Client().AppsV1().Deployments("shop").Patch(t.Context(), deployment, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (o opening) took() time.Duration { return o.cleared.Sub(o.set) }

// lasted returns how long each key was open. All keys must be cleared.
func lasted(t *testing.T, keys []opening) (all []time.Duration) {
	t.Helper()
	for _, k := range keys {
		if k.cleared.IsZero() {
			t.Errorf("the key of %s until %s was not cleared", k.owner, k.until)
			continue
		}
		all = append(all, k.took())
	}
	return all
}

// paired checks that each landed replacement belongs to one move of its own controller and is on
// the planned node. It returns the number of pairs.
func paired(t *testing.T, f *stage.Fixture, d *diary) (pairs int) {
	t.Helper()
	lives, owners, taken := d.lives(), map[string]string{}, map[string]string{}
	for _, l := range lives {
		owners[l.name] = l.owner
	}
	for _, move := range f.Moves() {
		replacement, known := lives[move.Replacement]
		switch {
		case move.State != "Landed":
			t.Logf("%s", &move)
		case !known || replacement.node != move.To:
			t.Errorf("%s, which was bound to %q", &move, replacement.node)
		case replacement.owner != owners[move.Pod]:
			t.Errorf("%s, which is of the controller %s, not %s", &move, replacement.owner, owners[move.Pod])
		case taken[move.Replacement] != "":
			t.Errorf("%s, which has replaced %s", &move, taken[move.Replacement])
		default:
			pairs++
		}
		taken[move.Replacement] = move.Pod
	}
	return pairs
}

// While 20 pods of a Deployment are moved, the Deployment is scaled up by 20 and then rolled out;
// the pods of three others are moved throughout. No pod waits long, and keys are open only briefly.
// No pod of the scale-up is mistaken for a replacement: each move is paired with a replacement of
// its own.
//
//	hot node:   14 hog × 2200m + filler 100m = 30.9 of 32 cores = 96.6 %; requests 14 × 250m + 26 = 29.5 cores; under 65 % takes 5 hogs off
//	other node:  1 bg  × 2400m               =  2.4 of 32 cores =  7.5 %; requests                  24.0 cores
//
// By requests, the other nodes are emptier, so unsteered pods go there as well, but to no
// particular node.
//
//e2e:tier all
//e2e:alone
func TestScaleUpAndRolloutWhileSteering(t *testing.T) {
	const (
		owners, burning, cool = 4, 24, 40
		scaledAt, moved       = 8, 20 // the rollout starts when the first owner has had scaledAt keys
		more                  = 20
	)
	f, o := unasked(t, "admission-steering")
	nodes, err := f.AddNodes(t.Context(), burning+cool, cluster.NodeTemplate{OwnAddresses: true})
	if err != nil {
		t.Fatal(err)
	}
	hot, others := nodes[:burning], nodes[burning:]
	placements := []cluster.Placement{
		{Workload: stage.Workload("filler", cluster.Resources{CPU: "26"}, cluster.Resources{CPU: "100m", Memory: "64Mi"}), On: stage.On(1, hot...)},
		{Workload: stage.Workload("bg", wide, light), On: stage.On(1, others...)},
	}
	for i := range owners {
		theirs := hot[i*burning/owners : (i+1)*burning/owners]
		placements = append(placements, cluster.Placement{Workload: stage.Workload(fmt.Sprint("hog-", i), small, heavy), On: stage.On(perHotNode, theirs...)})
	}
	if err := f.Place(t.Context(), placements...); err != nil {
		t.Fatal(err)
	}
	policy := remembered(f, 200*time.Millisecond, nodes...)
	d, mark := follow(t, f), f.Mark()
	f.Serve(policy)
	first := d.ownerOf("hog-0-")
	d.nth(t, first, scaledAt, 2*time.Minute)
	change(t, f, "hog-0", `{"spec": {"replicas": %d}}`, burning/owners*perHotNode+more)
	d.nth(t, first, moved, 2*time.Minute)
	change(t, f, "hog-0", `{"spec": {"template": {"metadata": {"annotations": {"version": "2"}}}}}`)
	if err := f.WaitReady(t.Context(), "shop", "hog-0"); err != nil {
		t.Fatal(err)
	}
	cooledLarge(t, f, o)
	landed(t, f)
	atEase(t, f, d, mark)
}

// atEase checks what the moves cost other pods, and that replacements were paired correctly.
func atEase(t *testing.T, f *stage.Fixture, d *diary, mark cluster.AuditMark) {
	t.Helper()
	const within, atMost = 300 * time.Millisecond, 5 * time.Second
	pairs, evictions := paired(t, f, d), f.Evictions(mark)
	if evictions > pairs+2 { // the rollout may replace pods before the last moves of their owner are made
		t.Errorf("%d evictions and %d pairs, want as many, but for two", evictions, pairs)
	}
	open, waits := lasted(t, d.openings()), d.waits()
	if slow := quantile(open, 99); slow > within {
		t.Errorf("one in a hundred keys was open for %v, want at most %v", slow, within)
	}
	if longest := slices.Max(waits); longest > atMost {
		t.Errorf("a pod was held for %v, want at most %v", longest, atMost)
	}
	held, free := d.binding()
	t.Logf("figures: evictions %d, %d pairs; %d keys were open for %s; %d pods were held for %s; from creation to binding with a gate %s, without %s",
		evictions, pairs, len(open), spread(open), len(waits), spread(waits), spread(held), spread(free))
}

// binding returns how long pods took from when they were first seen until they were bound,
// separately for those that were held and for others that arrived without a node.
func (d *diary) binding() (held, free []time.Duration) {
	for _, l := range d.lives() {
		switch took := l.bound.Sub(l.came); {
		case l.bound.IsZero() || took == 0: // it existed before the diary began
		case l.held:
			held = append(held, took)
		default:
			free = append(free, took)
		}
	}
	return held, free
}

// The key of a StatefulSet's pod is open until the pod has terminated, which takes its grace
// period, and at most one second longer.
//
//e2e:tier all
//e2e:alone
func TestKeysOfStatefulSetsEndWithThePod(t *testing.T) {
	const grace = 5 * time.Second
	f, o := unasked(t, "admission-steering")
	// Until others are added, all pods go to this node.
	hot, err := f.AddNodes(t.Context(), 1, cluster.NodeTemplate{NamePrefix: "hot-"})
	if err != nil {
		t.Fatal(err)
	}
	stateful(t, f, grace)
	others, err := f.AddNodes(t.Context(), 7, cluster.NodeTemplate{NamePrefix: "cool-"})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Place(t.Context(), cluster.Placement{Workload: stage.Workload("bg", wide, light), On: stage.On(1, others...)}); err != nil {
		t.Fatal(err)
	}
	d, mark := follow(t, f), f.Mark()
	f.Serve(f.Policy(stage.RealUsage, byAPIServer))
	cooledLarge(t, f, o)
	judge(t, f, mark, hot, fewestPerNode)
	if pairs := paired(t, f, d); pairs < fewestPerNode {
		t.Errorf("%d moves have landed, want %d", pairs, fewestPerNode)
	}
	open := lasted(t, d.openings())
	if slowest := slices.Max(open); slowest > grace+time.Second {
		t.Errorf("a key was open for %v, want at most the grace period of %v and a second", slowest, grace)
	}
	t.Logf("figures: %d keys were open for %s, with a grace period of %v", len(open), spread(open), grace)
}

// stateful creates a StatefulSet that makes one node hot, and waits for its
// pods.
func stateful(t *testing.T, f *stage.Fixture, grace time.Duration) {
	t.Helper()
	if err := f.EnsureNamespace(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	labels, seconds, replicas := map[string]string{"app": "db"}, int64(grace.Seconds()), int32(perHotNode)
	graced := maps.Clone(labels)
	graced[cluster.GraceLabel] = "true"
	requests := v1.ResourceList{v1.ResourceCPU: resource.MustParse(small.CPU), v1.ResourceMemory: resource.MustParse(small.Memory)}
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, PodManagementPolicy: appsv1.ParallelPodManagement, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: v1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels: graced, Annotations: map[string]string{cluster.UsageCPUAnnotation: heavy.CPU, cluster.UsageMemoryAnnotation: heavy.Memory},
				},
				Spec: v1.PodSpec{
					TerminationGracePeriodSeconds: &seconds,
					Containers:                    []v1.Container{{Name: "main", Image: "registry.example/db", Resources: v1.ResourceRequirements{Requests: requests}}},
				},
			},
		},
	}
	if _, err := f.Client().AppsV1().StatefulSets("shop").Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	f.Eventually(time.Minute, "the StatefulSet to be ready", func(ctx context.Context) bool {
		got, err := f.Client().AppsV1().StatefulSets("shop").Get(ctx, "db", metav1.GetOptions{})
		return err == nil && got.Status.ReadyReplicas == replicas
	})
}
