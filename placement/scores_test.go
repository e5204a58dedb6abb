package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

func prefersLabel(key, value string) func(*v1.Pod) {
	return func(p *v1.Pod) {
		affinityOf(p).NodeAffinity = &v1.NodeAffinity{
			PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredSchedulingTerm{{Weight: 10, Preference: v1.NodeSelectorTerm{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: key, Operator: v1.NodeSelectorOpIn, Values: []string{value}}},
			}}},
		}
	}
}

func preferred(topology string, selector *metav1.LabelSelector) []v1.WeightedPodAffinityTerm {
	return []v1.WeightedPodAffinityTerm{{Weight: 10, PodAffinityTerm: v1.PodAffinityTerm{TopologyKey: topology, LabelSelector: selector}}}
}

func prefersPods(topology string, selector *metav1.LabelSelector) func(*v1.Pod) {
	return func(p *v1.Pod) {
		affinityOf(p).PodAffinity = &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: preferred(topology, selector)}
	}
}

func avoidsPods(topology string, selector *metav1.LabelSelector) func(*v1.Pod) {
	return func(p *v1.Pod) {
		affinityOf(p).PodAntiAffinity = &v1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: preferred(topology, selector)}
	}
}

func spreadSoftly(topology string, selector *metav1.LabelSelector) func(*v1.Pod) {
	return func(p *v1.Pod) {
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, v1.TopologySpreadConstraint{
			MaxSkew: 1, TopologyKey: topology, WhenUnsatisfiable: v1.ScheduleAnyway, LabelSelector: selector,
		})
	}
}

// scores returns the plugins' scores of the nodes that fit, on kube-scheduler's own snapshot of the
// world without the pod and the moved pods.
func (o *oracle) scores(t *testing.T, scoring framework.Framework, pod *v1.Pod, names []string) (scores []int64) {
	t.Helper()
	world, replacement, cycle := o.world(pod, false), replacementOf(pod), framework.NewCycleState()
	var infos []fwk.NodeInfo
	var at []int
	for i, name := range names {
		scores = append(scores, Refused)
		if o.fits(pod, name).OK {
			at = append(at, i)
		}
	}
	o.lister.SharedLister = cache.NewSnapshot(world, o.nodes)
	for _, i := range at {
		info, err := o.lister.NodeInfos().Get(names[i])
		if err != nil {
			t.Fatal(err)
		}
		infos = append(infos, info)
	}
	if len(infos) == 0 {
		return scores
	}
	scoring.RunPreScorePlugins(o.ctx, cycle, replacement, infos)
	found, status := scoring.RunScorePlugins(o.ctx, cycle, replacement, infos)
	if !status.IsSuccess() {
		t.Fatal(status)
	}
	for k := range found {
		scores[at[k]] = found[k].TotalScore
	}
	return scores
}

// Scores equal those of kube-scheduler's plugins on the whole snapshot with the session's moves,
// also after soft taints have come and gone.
// They are nil only if all of them would be equal.
func TestScoresEqualThoseOfFreshSnapshots(t *testing.T) {
	o := newOracle(t)
	scoring, _, err := newScores(t.Context(), o.cfg, o.lister)
	if err != nil {
		t.Fatal(err)
	}
	without, with := 0, 0
	for seed := range uint64(60) {
		w := newRandomWalk(t, seed, o)
		names := make([]string, len(o.nodes))
		for i, node := range o.nodes {
			names[i] = node.Name
			if seed%3 == 0 && w.rnd.IntN(6) == 0 {
				node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: "soft", Effect: v1.TaintEffectPreferNoSchedule})
			}
			switch {
			case seed%4 > 0 || w.rnd.IntN(2) == 0:
			case w.rnd.IntN(2) == 0:
				delete(node.Labels, v1.LabelHostname)
			default:
				node.Labels[v1.LabelHostname] = "shared"
			}
		}
		app := selecting("app", "app-0")
		options := []func(*v1.Pod){
			prefersLabel(zoneKey, "zone-1"), prefersPods(zoneKey, app), avoidsPods(v1.LabelHostname, app), avoidsPods(zoneKey, selecting("app", "app-1")),
			spreadSoftly(zoneKey, app), spreadSoftly(v1.LabelHostname, app),
			func(p *v1.Pod) {
				p.Spec.Tolerations = append(p.Spec.Tolerations, v1.Toleration{Key: "soft", Operator: v1.TolerationOpExists})
			},
		}
		for _, pod := range o.pods {
			for _, option := range options {
				if w.rnd.IntN(8) == 0 {
					option(pod)
				}
			}
		}
		w.syncChanged()
		for range 3 {
			s := w.follow()
			for range 8 {
				w.moveOrUndo(s)
				pod := o.pods[w.rnd.IntN(len(o.pods))]
				if _, moved := o.moves[pod]; moved {
					continue
				}
				w.rnd.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
				some := names[:1+w.rnd.IntN(len(names))]
				want, got := o.scores(t, scoring, pod, some), s.Scores(pod, some)
				if got == nil {
					without++
					fitting := slices.DeleteFunc(slices.Clone(want), func(score int64) bool { return score == Refused })
					if len(fitting) > 0 && slices.Min(fitting) != slices.Max(fitting) {
						t.Fatalf("seed %d: %s prefers no node, want %v\n%v", seed, pod.Name, want, w.steps)
					}
					continue
				}
				with++
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("seed %d: scores of %s (-want +got):\n%s\n%v", seed, pod.Name, diff, w.steps)
				}
			}
			s.Close()
			w.undos, o.moves = nil, map[*v1.Pod]string{}
			if seed%3 == 0 {
				w.taintOrUntaint()
			}
		}
	}
	if without < 50 || with < 200 {
		t.Errorf("%d pods without and %d with preferences: too few to show anything", without, with)
	}
}

// taintOrUntaint gives a node a soft taint, or takes its taints away, and reports that.
func (w *randomWalk) taintOrUntaint() {
	i := w.rnd.IntN(len(w.o.nodes))
	node := w.o.nodes[i].DeepCopy()
	if softTainted(node) {
		node.Spec.Taints = nil
	} else {
		node.Spec.Taints = append(node.Spec.Taints, v1.Taint{Key: "soft", Effect: v1.TaintEffectPreferNoSchedule})
	}
	w.o.nodes[i] = node
	w.follower.NodeChanged(node.Name)
	w.steps = append(w.steps, "taint or untaint "+node.Name)
}

// A pod without other preferences prefers nodes without soft taints as soon as a taint is reported,
// and none as soon as it has gone again.
func TestScoresFollowSoftTaints(t *testing.T) {
	w := &randomWalk{t: t, f: offline(t), o: &oracle{}}
	w.follower = w.f.Follow(w)
	pod := aPod("web-0", "src")
	w.o.nodes, w.o.pods = []*v1.Node{aNode("src"), aNode("a"), aNode("b")}, []*v1.Pod{pod}
	soft := []v1.Taint{{Key: "soft", Effect: v1.TaintEffectPreferNoSchedule}}
	for i, taints := range [][]v1.Taint{nil, soft, nil, soft, nil} {
		tainted := aNode("a")
		tainted.Spec.Taints = taints
		w.o.nodes[1] = tainted
		w.follower.NodeChanged("a")
		s := w.follow()
		got := s.Scores(pod, []string{"a", "b"})
		if prefers := len(got) == 2 && got[1] > got[0]; prefers != (taints != nil) {
			t.Errorf("step %d: scores %v with taints %v of the first node", i, got, taints)
		}
		if got, want := w.f.snapshot.softTainted, len(taints); got != want {
			t.Errorf("step %d: %d nodes have soft taints, want %d", i, got, want)
		}
		s.Close()
	}
}

// Nodes without pods that count score alike. All of them count for the weight of a host-name
// constraint, except those that are in no zone.
func TestScoresAmongManyNodes(t *testing.T) {
	o := newOracle(t)
	scoring, _, err := newScores(t.Context(), o.cfg, o.lister)
	if err != nil {
		t.Fatal(err)
	}
	app := selecting("app", "web")
	for seed := range uint64(8) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		o.nodes, o.pods, o.moves = nil, nil, map[*v1.Pod]string{}
		var names []string
		for i := range 60 {
			node := aNode(numbered("node", i))
			if i%4 > 0 {
				node.Labels[zoneKey] = numbered("zone", i%3)
			}
			o.nodes, names = append(o.nodes, node), append(names, node.Name)
		}
		for i := range 20 {
			o.pods = append(o.pods, aPod(numbered("web", i), names[rnd.IntN(8)], podLabel("app", "web"), spreadSoftly(zoneKey, app), spreadSoftly(v1.LabelHostname, app)))
		}
		f := newFilters(t, o.cfg)
		syncAll(t, f, o.nodes, o.pods)
		s := f.Begin()
		for _, pod := range o.pods[:4] {
			if diff := cmp.Diff(o.scores(t, scoring, pod, names), s.Scores(pod, names)); diff != "" {
				t.Fatalf("seed %d: scores of %s (-want +got):\n%s", seed, pod.Name, diff)
			}
			o.moves[pod] = names[8+rnd.IntN(8)]
			mustMove(t, s, pod, o.moves[pod])
		}
		s.Close()
	}
}

// For the topology key hostname, each node is its own domain, whatever its
// label is.
func TestNodesOfOneHostnameAreNotAlike(t *testing.T) {
	f, app := offline(t), selecting("app", "web")
	nodes := []*v1.Node{aNode("src"), aNode("a", nodeLabel(v1.LabelHostname, "same")), aNode("b", nodeLabel(v1.LabelHostname, "same"))}
	pods := []*v1.Pod{aPod("web-0", "src", podLabel("app", "web"), spreadSoftly(v1.LabelHostname, app))}
	for i := range 5 {
		pods = append(pods, aPod(numbered("web", i+1), "a", podLabel("app", "web"), spreadSoftly(v1.LabelHostname, app)))
	}
	syncAll(t, f, nodes, pods)
	s := f.Begin()
	defer s.Close()
	if got := s.Scores(pods[0], []string{"a", "b"}); len(got) != 2 || got[1] <= got[0] {
		t.Errorf("scores %v, want more for b", got)
	}
}

// talkative returns a pod of another namespace with terms that match the pods of all namespaces,
// each term with its own topology.
func talkative(terms int) *v1.Pod {
	pod, all := aPod("talkative", "node-0", inNamespace("other")), []v1.WeightedPodAffinityTerm(nil)
	for i := range terms {
		all = append(all, v1.WeightedPodAffinityTerm{Weight: 1, PodAffinityTerm: v1.PodAffinityTerm{
			TopologyKey: numbered("key", i), LabelSelector: &metav1.LabelSelector{}, NamespaceSelector: &metav1.LabelSelector{},
		}})
	}
	affinityOf(pod).PodAffinity = &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: all}
	return pod
}

// BenchmarkScoresBesideManyTerms measures the cost that one pod with many terms adds for every
// other workload. It is proportional to the number of terms.
func BenchmarkScoresBesideManyTerms(b *testing.B) {
	for _, terms := range []int{1000, 4000} {
		b.Run(fmt.Sprintf("terms=%d", terms), func(b *testing.B) {
			f, pod := offline(b), aPod("web", "node-0", podLabel("app", "web"))
			nodes := []*v1.Node{aNode("node-0"), aNode("node-1"), aNode("node-2")}
			syncAll(b, f, nodes, []*v1.Pod{pod, talkative(terms)})
			for b.Loop() {
				s := f.Begin()
				s.Scores(pod, []string{"node-1", "node-2"})
				s.Close()
			}
		})
	}
}

// If very many pods count, a session's scores are those before its moves.
func TestScoresOfGiants(t *testing.T) {
	f := offline(t)
	var nodes []*v1.Node
	var pods []*v1.Pod
	for i := range 6 {
		nodes = append(nodes, aNode(numbered("node", i), nodeLabel(zoneKey, numbered("zone", i%2)), allocatable(v1.ResourceCPU, "4000"), allocatable(v1.ResourcePods, "2000")))
	}
	for i := range maxCounted + 100 {
		node := nodes[(i%3)*2].Name // all in one zone
		pods = append(pods, aPod(numbered("pod", i), node, podLabel("app", "giant"), spreadSoftly(zoneKey, selecting("app", "giant"))))
	}
	syncAll(t, f, nodes, pods)
	s := f.Begin()
	defer s.Close()
	for i := range 5 {
		scores := s.Scores(pods[i], []string{"node-0", "node-1", "node-2", "node-3"})
		if len(scores) != 4 || scores[1] <= scores[0] || scores[3] != scores[1] || scores[2] != scores[0] {
			t.Fatalf("scores %v, want more for the other zone", scores)
		}
		mustMove(t, s, pods[i], "node-1")
	}
}

func BenchmarkScores(b *testing.B) {
	soft := func(_ int, p *v1.Pod) { spreadSoftly(zoneKey, selecting("app", p.Labels["app"]))(p) }
	for kind, decorate := range map[string]func(int, *v1.Pod){"plain": plain, "soft spread": soft} {
		b.Run(fmt.Sprintf("%s/nodes=5000", kind), func(b *testing.B) {
			nodes, pods := fleet(5000, decorate)
			f := offline(b)
			syncAll(b, f, nodes, pods)
			s := f.Begin()
			defer s.Close()
			names := make([]string, 16)
			for i := range names {
				names[i] = nodes[i*300].Name
			}
			i := 0
			for b.Loop() {
				s.Scores(pods[(i*31)%len(pods)], names)
				i++
			}
		})
	}
}
