package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// For every random cluster and sequence of moves, undone moves, syncs and reported changes, each result equals that
// of the plugins on a snapshot built from scratch.
func TestResultsEqualThoseOfFreshSnapshots(t *testing.T) {
	clusters := 150
	if testing.Short() {
		clusters = 20
	}
	o := newOracle(t)
	for seed := range uint64(clusters) {
		w := newRandomWalk(t, seed, o)
		for range 3 {
			w.syncChanged()
			w.session(w.f.Begin())
			for range 2 {
				w.reportChanged()
				w.session(w.follow())
			}
		}
	}
}

// After a session is closed, its moves have left no trace: the results of all pods on all nodes are
// those of filters that never had the session.
func TestClosedSessionsLeaveNoTrace(t *testing.T) {
	o := newOracle(t)
	for seed := range uint64(20) {
		w := newRandomWalk(t, seed, o)
		w.syncChanged()
		s := w.f.Begin()
		for range 30 {
			w.moveOrUndo(s)
		}
		s.Close()
		fresh := newFilters(t, o.cfg)
		syncAll(t, fresh, o.nodes, o.pods)
		if diff := cmp.Diff(allResults(fresh, o), allResults(w.f, o)); diff != "" {
			t.Fatalf("seed %d: results after a closed session (-fresh +used):\n%s", seed, diff)
		}
		for name, n := range w.f.snapshot.nodes {
			if n.overlay != nil {
				t.Errorf("seed %d: node %s still has an overlay", seed, name)
			}
		}
	}
}

func allResults(f *Filters, o *oracle) map[string]Result {
	s := f.Begin()
	defer s.Close()
	all := map[string]Result{}
	for _, pod := range o.pods {
		for _, node := range o.nodes {
			all[pod.Name+" on "+node.Name] = s.Fits(pod, node.Name)
		}
	}
	return all
}

type randomWalk struct {
	t    testing.TB
	seed uint64
	rnd  *rand.Rand
	o    *oracle
	f    *Filters
	// follower gets reports of the changes that reportChanged makes.
	follower *Follower
	steps    []string
	undos    []pendingUndo
	next     int
}

type pendingUndo struct {
	pod  *v1.Pod
	undo func()
}

func newRandomWalk(t testing.TB, seed uint64, o *oracle) *randomWalk {
	w := &randomWalk{t: t, seed: seed, rnd: rand.New(rand.NewPCG(seed, 1)), o: o, f: newFilters(t, o.cfg)}
	w.follower = w.f.Follow(w)
	o.nodes, o.pods, o.moves = nil, nil, map[*v1.Pod]string{}
	for i := range 3 + w.rnd.IntN(4) {
		o.nodes = append(o.nodes, w.node(numbered("node", i)))
	}
	for range 8 + w.rnd.IntN(20) {
		o.pods = append(o.pods, w.pod())
	}
	return w
}

func (w *randomWalk) node(name string) *v1.Node {
	n := aNode(name)
	if w.rnd.IntN(5) > 0 {
		n.Labels[zoneKey] = numbered("zone", w.rnd.IntN(3))
	}
	if w.rnd.IntN(8) == 0 {
		n.Spec.Taints = []v1.Taint{{Key: "dedicated", Effect: v1.TaintEffectNoSchedule}}
	}
	n.Spec.Unschedulable = w.rnd.IntN(12) == 0
	return n
}

// Nodes, Node, Pods and Pod implement Objects.
func (w *randomWalk) Nodes() []*v1.Node { return w.o.nodes }

func (w *randomWalk) Pods() []*v1.Pod { return w.o.pods }

func (w *randomWalk) Node(name string) *v1.Node {
	i := slices.IndexFunc(w.o.nodes, func(n *v1.Node) bool { return n.Name == name })
	if i < 0 {
		return nil
	}
	return w.o.nodes[i]
}

func (w *randomWalk) Pod(namespace, name string) *v1.Pod {
	i := slices.IndexFunc(w.o.pods, func(p *v1.Pod) bool { return p.Namespace == namespace && p.Name == name })
	if i < 0 {
		return nil
	}
	return w.o.pods[i]
}

func (w *randomWalk) follow() *Session {
	s, err := w.follower.Begin()
	if err != nil {
		w.t.Fatalf("Begin: %v", err)
	}
	return s
}

func (w *randomWalk) pod() *v1.Pod {
	w.next++
	app := numbered("app", w.rnd.IntN(3))
	ns := numbered("ns", w.rnd.IntN(2))
	node := w.o.nodes[w.rnd.IntN(len(w.o.nodes))].Name
	p := aPod(numbered("pod", w.next), node, podLabel("app", app), inNamespace(ns),
		cpu(fmt.Sprintf("%dm", 100+400*w.rnd.IntN(3))))
	options := []func(*v1.Pod){
		func(p *v1.Pod) { delete(p.Labels, "app") },
		statefulSet, beingDeleted, hostPort(80),
		antiAffinity(v1.LabelHostname, selecting("app", app)),
		antiAffinity(zoneKey, selecting("app", "app-0"), func(t *v1.PodAffinityTerm) { t.Namespaces = []string{"ns-0", "ns-1"} }),
		antiAffinity(v1.LabelHostname, notSelecting(), func(t *v1.PodAffinityTerm) { t.NamespaceSelector = &metav1.LabelSelector{} }),
		podsAffinity(zoneKey, selecting("app", app)),
		podsAffinity(v1.LabelHostname, selecting("app", "app-1")),
		spread(zoneKey, 1, selecting("app", app)),
		spread(v1.LabelHostname, 1, selecting("app", app)),
		spread(v1.LabelHostname, 2, &metav1.LabelSelector{}),
		spreadByKeys("app"),
		spreadCounting(v1.NodeInclusionPolicyHonor),
		nodeSelector(zoneKey, "zone-0"), onNodesNamed("node-1", "node-2"),
		func(p *v1.Pod) { p.Spec.Tolerations = []v1.Toleration{{Operator: v1.TolerationOpExists}} },
		spreadSoftly(zoneKey, selecting("app", app)), avoidsPods(v1.LabelHostname, selecting("app", app)),
		avoidsPods(zoneKey, &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "unreadable"}}}),
		awsVolume, claim("mine"), claim("zonal"), resized("300m"),
	}
	for range w.rnd.IntN(4) {
		options[w.rnd.IntN(len(options))](p)
	}
	return p
}

func notSelecting() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "app", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"app-0", "app-1"}},
	}}
}

func spreadByKeys(keys ...string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		spread(zoneKey, 1, &metav1.LabelSelector{})(p)
		p.Spec.TopologySpreadConstraints[len(p.Spec.TopologySpreadConstraints)-1].MatchLabelKeys = keys
	}
}

func spreadCounting(taints v1.NodeInclusionPolicy) func(*v1.Pod) {
	return func(p *v1.Pod) {
		three := int32(3)
		spread(zoneKey, 2, selecting("app", p.Labels["app"]))(p)
		c := &p.Spec.TopologySpreadConstraints[len(p.Spec.TopologySpreadConstraints)-1]
		c.NodeTaintsPolicy, c.MinDomains = &taints, &three
	}
}

func awsVolume(p *v1.Pod) {
	p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: "disk", VolumeSource: v1.VolumeSource{
		AWSElasticBlockStore: &v1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-1"},
	}})
}

// changePods replaces some pods by others, and some by newer versions of themselves.
func (w *randomWalk) changePods() (changed, gone []*v1.Pod) {
	for i, pod := range w.o.pods {
		switch w.rnd.IntN(10) {
		case 0:
			w.o.pods[i], gone = w.pod(), append(gone, pod)
		case 1:
			w.o.pods[i] = pod.DeepCopy()
			podLabel("app", numbered("app", w.rnd.IntN(3)))(w.o.pods[i])
		case 2:
			w.o.pods[i] = w.newer(pod)
		case 3:
			w.o.pods[i] = pod.DeepCopy()
			w.o.pods[i].Spec.NodeName = w.o.nodes[w.rnd.IntN(len(w.o.nodes))].Name
		case 4: // as a StatefulSet does
			w.next++
			w.o.pods[i], gone = pod.DeepCopy(), append(gone, pod)
			w.o.pods[i].UID = types.UID(numbered("again", w.next))
		default:
			continue
		}
		changed = append(changed, w.o.pods[i])
	}
	return changed, gone
}

// reportChanged changes some pods and nodes, and reports that to the follower, sometimes twice.
func (w *randomWalk) reportChanged() {
	changed, gone := w.changePods()
	reports := slices.Concat(changed, gone)
	for range 1 + w.rnd.IntN(2) {
		i := w.rnd.IntN(len(w.o.nodes))
		old := w.o.nodes[i]
		switch w.rnd.IntN(6) {
		case 0:
			w.next++
			w.o.nodes = append(w.o.nodes, w.node(numbered("later", w.next)))
			old = w.o.nodes[len(w.o.nodes)-1]
		case 1:
			if len(w.o.nodes) < 3 {
				continue
			}
			w.o.nodes = slices.Delete(w.o.nodes, i, i+1)
			w.o.pods = slices.DeleteFunc(w.o.pods, func(p *v1.Pod) bool {
				gone := p.Spec.NodeName == old.Name
				if gone {
					reports = append(reports, p)
				}
				return gone
			})
		default:
			w.o.nodes[i] = w.node(old.Name)
		}
		w.follower.NodeChanged(old.Name)
	}
	for len(w.o.pods) < 5 {
		w.o.pods = append(w.o.pods, w.pod())
		reports = append(reports, w.o.pods[len(w.o.pods)-1])
	}
	for range 1 + w.rnd.IntN(2) {
		w.rnd.Shuffle(len(reports), func(i, j int) { reports[i], reports[j] = reports[j], reports[i] })
		for _, pod := range reports {
			w.follower.PodChanged(pod)
		}
	}
	w.steps = append(w.steps, "report")
}

// syncChanged replaces some pods and nodes, and syncs the filters.
func (w *randomWalk) syncChanged() {
	w.changePods()
	i := w.rnd.IntN(len(w.o.nodes))
	w.o.nodes[i] = w.node(w.o.nodes[i].Name)
	w.rnd.Shuffle(len(w.o.pods), func(i, j int) { w.o.pods[i], w.o.pods[j] = w.o.pods[j], w.o.pods[i] })
	w.steps = append(w.steps, "sync")
	syncAll(w.t, w.f, w.o.nodes, w.o.pods)
}

// newer returns a pod with a change that may or may not affect the sums of its node.
func (w *randomWalk) newer(pod *v1.Pod) *v1.Pod {
	changed := pod.DeepCopy()
	options := []func(*v1.Pod){
		func(*v1.Pod) {}, beingDeleted, hostPort(80), claim("mine"), cpu("1500m"), resized("900m"),
		func(p *v1.Pod) { p.Spec.Containers[0].Ports = nil },
		func(p *v1.Pod) { p.Spec.Volumes = nil },
		func(p *v1.Pod) { p.Status.Phase = v1.PodRunning },
	}
	options[w.rnd.IntN(len(options))](changed)
	return changed
}

func (w *randomWalk) session(s *Session) {
	for range 12 {
		w.moveOrUndo(s)
		for range 6 {
			w.compare(s)
		}
	}
	s.Close()
	w.undos, w.o.moves = nil, map[*v1.Pod]string{}
	w.steps = append(w.steps, "close")
}

func (w *randomWalk) moveOrUndo(s *Session) {
	if len(w.undos) > 0 && w.rnd.IntN(3) == 0 {
		i := w.rnd.IntN(len(w.undos))
		u := w.undos[i]
		w.undos = append(w.undos[:i], w.undos[i+1:]...)
		u.undo()
		delete(w.o.moves, u.pod)
		w.steps = append(w.steps, "undo "+u.pod.Name)
		return
	}
	pod := w.o.pods[w.rnd.IntN(len(w.o.pods))]
	if _, moved := w.o.moves[pod]; moved {
		return
	}
	dest := w.o.nodes[w.rnd.IntN(len(w.o.nodes))].Name
	w.undos = append(w.undos, pendingUndo{pod, mustMove(w.t, s, pod, dest)})
	w.o.moves[pod] = dest
	w.steps = append(w.steps, "move "+pod.Name+" to "+dest)
}

func (w *randomWalk) compare(s *Session) {
	pod := w.o.pods[w.rnd.IntN(len(w.o.pods))]
	if _, moved := w.o.moves[pod]; moved {
		return
	}
	node := w.o.nodes[w.rnd.IntN(len(w.o.nodes))].Name
	want, got := w.o.fits(pod, node), s.Fits(pod, node)
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Fatalf("seed %d, %s on %s after %v (-fresh +session):\n%s", w.seed, pod.Name, node, w.steps, diff)
	}
}
