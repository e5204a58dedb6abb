package sim

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/sim/kubescheduler"
	"github.com/evenkeel/evenkeel/sim/trace"
)

// onlooker keeps the pods that a watch has reported.
type onlooker struct {
	pods   map[string]*v1.Pod
	scaled int
}

func (o *onlooker) SetPod(pod *v1.Pod)       { o.pods[pod.Name] = pod }
func (o *onlooker) DeletePod(pod *v1.Pod)    { delete(o.pods, pod.Name) }
func (o *onlooker) ScaledDown(string)        { o.scaled++ }
func (o *onlooker) Passed(time.Time)         {}
func (o *onlooker) Nominates(*v1.Pod) string { return "" }

// fleetOf returns a fleet of pods that use half of their allocation, ten per owner, and together
// request the given share of the nodes.
func fleetOf(t *testing.T, pods int, requested float64) *Fleet {
	t.Helper()
	made := &trace.Trace{}
	for range pods {
		made.IDs, made.Series = append(made.IDs, "s"), append(made.Series, []float32{50, 50, 50, 50})
	}
	shape := DefaultShape()
	shape.PodsPerNode, shape.RequestPercent = 10, requested
	fleet, err := NewFleet(shape, made, nil)
	if err != nil {
		t.Fatal(err)
	}
	return fleet
}

// settled returns a world whose first pods have been placed, with an onlooker.
func settled(t *testing.T, fleet *Fleet, gap time.Duration) (*world, *onlooker) {
	t.Helper()
	w, err := newWorld(t.Context(), fleet, kubescheduler.Config{Seed: 1}, gap)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.populate(); err != nil {
		t.Fatal(err)
	}
	o := &onlooker{pods: map[string]*v1.Pod{}}
	for _, pod := range w.pods() {
		o.pods[pod.Name] = pod
	}
	w.watcher = o
	return w, o
}

// Whatever happens to pods at the same time, the state stays consistent. Every existing replica has
// one pod of its owner's newest version, which is on a node or waits for one. The watch reports
// exactly these pods. Demand is on a node or lost, and evictions leave no more pods missing than
// budgets allow.
func TestWorldKeepsItsBooks(t *testing.T) {
	waited := 0
	for seed := range uint64(8) {
		random := rand.New(rand.NewPCG(seed, 9))
		fleet := fleetOf(t, 60, 97)
		fleet.Steps = 24
		for i := range fleet.Replicas {
			r := &fleet.Replicas[i]
			r.Requests[cluster.CPU] = r.Requests[cluster.CPU] * int64(8+7*(r.Owner%2)) / 10 // large and small, so that free space is fragmented
			if random.IntN(4) == 0 {
				r.From = random.IntN(12)
				r.Until = r.From + 1 + random.IntN(12)
			}
		}
		w, o := settled(t, fleet, time.Duration(random.IntN(400))*time.Second)
		w.maxUnavailable = []int{0, 10, 25, 100}[seed%4]
		w.deploys = deploys(fleet, 24, fleet.Steps, seed)
		game := books{world: w, random: random, onlooker: o}
		for step := range fleet.Steps {
			game.play(t, step)
		}
		if w.deployed == 0 || game.evicted == 0 != (w.maxUnavailable == 0) || game.refused == 0 != (w.maxUnavailable == 100) {
			t.Errorf("seed %d, budgets of %d %%: %d deployed, %d evicted, %d refused: not all of it was tried",
				seed, w.maxUnavailable, w.deployed, game.evicted, game.refused)
		}
		waited += game.waited
	}
	if waited == 0 {
		t.Error("no pod ever waited for space")
	}
}

// books changes a world at random and checks it after every step.
type books struct {
	*world
	*onlooker

	random                   *rand.Rand
	evicted, refused, waited int
	demanded                 float64
}

func (b *books) play(t *testing.T, step int) {
	t.Helper()
	begins := b.start.Add(time.Duration(step) * Step)
	if err := b.proceed(step, begins.Add(30*time.Second)); err != nil {
		t.Fatal(err)
	}
	for at := begins.Add(30 * time.Second); at.Before(begins.Add(Step)); at = at.Add(time.Duration(1+b.random.IntN(40)) * time.Second) {
		if err := b.until(at); err != nil {
			t.Fatal(err)
		}
		b.evictOne(t, at)
		b.check(t)
	}
	if err := b.until(begins.Add(Step - 1)); err != nil {
		t.Fatal(err)
	}
	b.usage.end(b.world)
	b.check(t)
	b.reckon(t, step)
}

func (b *books) evictOne(t *testing.T, at time.Time) {
	t.Helper()
	i := b.random.IntN(len(b.replicas))
	if b.replicas[i].pod == nil {
		return
	}
	owner := b.replicas[i].Owner
	allowed := int(math.Ceil(float64(b.maxUnavailable*b.wanted(owner)) / 100))
	_, err := b.evict(b.replicas[i].pod.UID, at)
	switch {
	case apierrors.IsTooManyRequests(err):
		b.refused++
	case err != nil:
		t.Fatal(err)
	default:
		if b.evicted++; b.missing(owner, at) > allowed && b.maxUnavailable < noBudget {
			t.Fatalf("an eviction leaves %d pods of an owner away, %d are allowed", b.missing(owner, at), allowed)
		}
	}
}

// check compares the state of the world, its nodes and the watch.
func (b *books) check(t *testing.T) {
	t.Helper()
	told := 0
	for i := range b.replicas {
		r := &b.replicas[i]
		pod := r.pod
		if pod == nil {
			if pod = r.waiting; pod != nil {
				b.waited++
			}
		}
		if (pod != nil) != r.Lives(b.step) || (r.pod == nil) != (r.node < 0) || r.pod != nil && r.waiting != nil {
			t.Fatalf("step %d: replica %d from %d to %d has the pods %v and %v, node %d", b.step, i, r.From, r.Until, r.pod, r.waiting, r.node)
		}
		if pod == nil {
			continue
		}
		told++
		if b.onlooker.pods[pod.Name] != pod {
			t.Fatalf("the watch has not reported the current state of pod %q", pod.Name)
		}
		if r.pod != nil && b.assigned[r.node][r.place] != r.pod {
			t.Fatalf("pod %q is not in its place", pod.Name)
		}
		if newest := b.versioned(&v1.Pod{ObjectMeta: ownedBy(r.Owner)}, r.Owner); !b.owners[r.Owner].rolling && ownerOf(pod) != ownerOf(newest) {
			t.Fatalf("pod %q is of %q, the newest is %q", pod.Name, ownerOf(pod), ownerOf(newest))
		}
	}
	if told != len(b.onlooker.pods) {
		t.Fatalf("the watch has reported %d pods, want %d", len(b.onlooker.pods), told)
	}
}

// reckon compares the replicas' demand with the sum of the demand on nodes and the lost demand.
func (b *books) reckon(t *testing.T, step int) {
	t.Helper()
	for i := range b.replicas {
		b.demanded += float64(b.replicas[i].Demand(step)[cluster.CPU])
	}
	served := 0.0
	for _, row := range b.usage.demands {
		for _, node := range row {
			served += node[cluster.CPU] / 100 * float64(b.fleet.Capacity[cluster.CPU])
		}
	}
	if got := served + b.usage.lost[cluster.CPU]; math.Abs(got-b.demanded) > 1e-6*b.demanded {
		t.Fatalf("step %d: %.1f on nodes and %.1f lost, %.1f was demanded", step, served, b.usage.lost[cluster.CPU], b.demanded)
	}
}

// A rollout without space waits until there is some, and the old pods stay in the meantime.
func TestARolloutWaitsForRoom(t *testing.T) {
	fleet := fleetOf(t, 20, 100)
	fleet.Replicas[19].Until = 2
	w, _ := settled(t, fleet, 30*time.Second)
	w.deploys = []Deploy{{Owner: 0, At: time.Minute}}
	for step := range 12 {
		if err := w.proceed(step, w.start.Add(time.Duration(step)*Step)); err != nil {
			t.Fatal(err)
		}
		if err := w.until(w.start.Add(time.Duration(step+1)*Step - 1)); err != nil {
			t.Fatal(err)
		}
		if w.missing(0, w.now) > 0 {
			t.Errorf("step %d: %d pods are away", step, w.missing(0, w.now))
		}
		if step == 1 && w.deployed > 0 {
			t.Errorf("%d pods were deployed where nothing fits", w.deployed)
		}
	}
	if w.owners[0].rolling || w.deployed != 10 {
		t.Errorf("%d of 10 pods were deployed after there was space", w.deployed)
	}
}

// Deploys depend only on the seed, are sorted by time and within the run, and are about as many as
// requested.
func TestDeploysAreDrawn(t *testing.T) {
	fleet := fleetOf(t, 1000, 50)
	fleet.Deploys = []Deploy{{Owner: 3, At: 2 * Step}, {Owner: 4, At: 400 * Step}}
	all := deploys(fleet, 2, 288, 1)
	if n := len(all); n < 160 || n > 240 {
		t.Errorf("%d deploys of 100 owners in a day, at 2 each", n)
	}
	said := 0
	for k, d := range all {
		if k > 0 && d.At < all[k-1].At || d.At >= 288*Step || d.Owner >= fleet.Owners {
			t.Errorf("deploy %d of owner %d is at %v", k, d.Owner, d.At)
		}
		if d.Owner == 3 && d.At >= 2*Step && d.At < 3*Step {
			said++
		}
	}
	if said == 0 {
		t.Error("the deploy that the fleet contains is missing")
	}
	if other := deploys(fleet, 2, 288, 2); len(other) == len(all) && other[5] == all[5] {
		t.Error("another seed draws the same")
	}
}

// ownedBy returns the metadata of a pod of an owner's first version.
func ownedBy(owner int) metav1.ObjectMeta {
	name := "set-" + strconv.Itoa(owner)
	return metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{
		APIVersion: "apps/v1", Kind: "ReplicaSet", Name: name, UID: types.UID(name), Controller: new(true),
	}}}
}
