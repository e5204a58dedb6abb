package evictor

import (
	"fmt"
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

func waiting(name, reason string, change ...func(*v1.Pod)) *v1.Pod {
	pod := &v1.Pod{}
	pod.Namespace, pod.Name = "shop", name
	pod.Status.Conditions = []v1.PodCondition{{Type: v1.PodScheduled, Status: v1.ConditionFalse, Reason: reason}}
	for _, c := range change {
		c(pod)
	}
	return pod
}

func (e *estate) addNodes(t *testing.T, nodes ...v1.Node) {
	t.Helper()
	for i := range nodes {
		if err := e.factory.Core().V1().Nodes().Informer().GetIndexer().Add(&nodes[i]); err != nil {
			t.Fatal(err)
		}
	}
}

// waits returns the names of the pods that wait for a node, in order.
func (e *estate) waits() (names []string) {
	for _, pod := range e.watched.Waiting() {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	return names
}

func TestUnschedulablePods(t *testing.T) {
	e := newEstate(t,
		waiting("without a node", v1.PodReasonUnschedulable),
		waiting("gated", v1.PodReasonSchedulingGated),
		waiting("bound since", v1.PodReasonUnschedulable, func(p *v1.Pod) { p.Spec.NodeName = "n" }),
		waiting("ended", v1.PodReasonUnschedulable, func(p *v1.Pod) { p.Status.Phase = v1.PodFailed }),
		waiting("new", "", func(p *v1.Pod) { p.Status.Conditions = nil }),
	)
	if got := e.watched.Waiting(); len(got) != 1 || got[0].Name != "without a node" || got[0].Namespace != "shop" {
		t.Errorf("%+v, want one pod", got)
	}
}

// Pods that no node could accept even if it were empty do not wait for the existing nodes.
func TestPodsThatNoNodeCouldTakeAreNoRush(t *testing.T) {
	selects := func(pool string) func(*v1.Pod) {
		return func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"pool": pool} }
	}
	asks := func(cores string) func(*v1.Pod) {
		return func(p *v1.Pod) {
			p.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cores)}}}}
		}
	}
	of := func(uid types.UID) func(*v1.Pod) {
		return func(p *v1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{UID: uid, Kind: "ReplicaSet", Controller: new(true)}}
		}
	}
	e := newEstate(t,
		waiting("anywhere", v1.PodReasonUnschedulable, of("rs-1")), waiting("there", v1.PodReasonUnschedulable, of("rs-2"), selects("batch")),
		waiting("nowhere", v1.PodReasonUnschedulable, of("rs-3"), selects("moon")), waiting("nowhere-2", v1.PodReasonUnschedulable, of("rs-3"), selects("moon")),
		waiting("small", v1.PodReasonUnschedulable, asks("4")), waiting("large", v1.PodReasonUnschedulable, asks("5")),
	)
	node := v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"pool": "batch"}}}
	node.Status.Allocatable = v1.ResourceList{v1.ResourceCPU: resource.MustParse("4")}
	e.addNodes(t, node)
	names := e.waits()
	if want := []string{"anywhere", "small", "there"}; !slices.Equal(names, want) {
		t.Errorf("%v wait for a node, want %v", names, want)
	}
}

// A node that somebody has reserved for others could not accept a pod even if it were empty. The
// taints of a node that is joining, being removed or under maintenance, in contrast, eventually
// disappear.
func TestLastingTaintsCount(t *testing.T) {
	soft, hard := v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoSchedule
	for name, c := range map[string]struct {
		taint   v1.Taint
		waiting []string
	}{
		"closed":                              {v1.Taint{Key: "pool", Value: "gpu", Effect: hard}, []string{"tolerant"}},
		"closed and emptied":                  {v1.Taint{Key: "pool", Value: "gpu", Effect: v1.TaintEffectNoExecute}, []string{"tolerant"}},
		"preferably not":                      {v1.Taint{Key: "pool", Value: "gpu", Effect: soft}, []string{"plain", "tolerant"}},
		"cordoned":                            {v1.Taint{Key: v1.TaintNodeUnschedulable, Effect: hard}, []string{"plain", "tolerant"}},
		"not ready":                           {v1.Taint{Key: v1.TaintNodeNotReady, Effect: v1.TaintEffectNoExecute}, []string{"plain", "tolerant"}},
		"being removed by cluster-autoscaler": {v1.Taint{Key: "ToBeDeletedByClusterAutoscaler", Value: "1700000000", Effect: hard}, []string{"plain", "tolerant"}},
		"being removed by Karpenter":          {v1.Taint{Key: "karpenter.sh/disrupted", Effect: hard}, []string{"plain", "tolerant"}},
		"new in a pool of Karpenter's":        {v1.Taint{Key: "karpenter.sh/unregistered", Effect: v1.TaintEffectNoExecute}, []string{"plain", "tolerant"}},
		"by a key of the policy's":            {v1.Taint{Key: "acme.io/drain", Effect: hard}, []string{"plain", "tolerant"}},
	} {
		selects := func(p *v1.Pod) { p.Spec.NodeSelector = map[string]string{"pool": "gpu"} }
		e := newEstate(t, waiting("plain", v1.PodReasonUnschedulable, selects), waiting("tolerant", v1.PodReasonUnschedulable, selects, func(p *v1.Pod) {
			p.Spec.Tolerations = []v1.Toleration{{Key: "pool", Operator: v1.TolerationOpExists}}
		}))
		e.addNodes(t, v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"pool": "gpu"}}, Spec: v1.NodeSpec{Taints: []v1.Taint{c.taint}}},
			v1.Node{ObjectMeta: metav1.ObjectMeta{Name: "other"}})
		e.watched.SetTaints(cluster.TaintRule{Leaving: []string{"acme.io/drain"}})
		if got := e.waits(); !slices.Equal(got, c.waiting) {
			t.Errorf("%s: %v wait for a node, want %v", name, got, c.waiting)
		}
	}
}

// Pods with very many requirements do not delay a look, and do not hide pods of other owners.
func TestALookIsBounded(t *testing.T) {
	affinity := func(terms, values int) func(*v1.Pod) {
		required := &v1.NodeSelector{NodeSelectorTerms: make([]v1.NodeSelectorTerm, terms)}
		for i := range required.NodeSelectorTerms {
			of := v1.NodeSelectorRequirement{Key: "pool", Operator: v1.NodeSelectorOpIn}
			for k := range values {
				of.Values = append(of.Values, fmt.Sprint("v", i, "-", k))
			}
			required.NodeSelectorTerms[i].MatchExpressions = []v1.NodeSelectorRequirement{of}
		}
		return func(p *v1.Pod) {
			p.Namespace, p.Spec.Affinity = "large", &v1.Affinity{NodeAffinity: &v1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}}
		}
	}
	requests := v1.ResourceList{}
	for i := range 20_000 {
		requests[v1.ResourceName(fmt.Sprint("example.com/", i))] = resource.MustParse("1")
	}
	resources := func(p *v1.Pod) {
		p.Namespace, p.Spec.Containers = "resources", []v1.Container{{Resources: v1.ResourceRequirements{Requests: requests}}}
	}
	large, many := affinity(1000, 60), affinity(100, 20)
	var pods []*v1.Pod
	for i := range 20 {
		name := fmt.Sprint("p", i)
		pods = append(pods, waiting(name, v1.PodReasonUnschedulable, large), waiting(name+"-many", v1.PodReasonUnschedulable, many),
			waiting(name+"-resources", v1.PodReasonUnschedulable, resources), waiting(name, v1.PodReasonUnschedulable))
	}
	e := newEstate(t, pods...)
	for i := range 1000 {
		e.addNodes(t, v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i), Labels: map[string]string{"pool": "a"}}})
	}
	if got := e.waits(); len(got) != 20 {
		t.Errorf("%d pods wait for a node, want those of another namespace, 20", len(got))
	}
	nodes := make([]offer, 1000)
	for i := range nodes {
		nodes[i].Node = &v1.Node{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"pool": "a"}}}
	}
	for _, pod := range pods {
		spent, most := new(effort), effort(maxEffort+byItself*asks(pod))
		for range 40 {
			spent.takenByOne(nodes, pod)
		}
		if *spent > most {
			t.Errorf("pods like %q cost %d comparisons, want at most %d", pod.Name, *spent, most)
		}
	}
}

// Nodes that take no part do not affect the share of nodes that are not ready. A node that is being
// removed is expected to stop, so it does not count as not ready.
func TestTheShareThatIsNotReady(t *testing.T) {
	e := newEstate(t)
	latest := seen(t, 5000)
	latest.View.Snapshot = &cluster.Snapshot{}
	for _, n := range []cluster.Node{
		{Ready: true}, {Ready: true}, {}, {Leaving: "deletionTimestamp"},
		{Labels: map[string]string{"type": "virtual-kubelet"}}, {Unselected: true}, {Ready: true, Unselected: true},
	} {
		latest.View.Snapshot.Nodes = append(latest.View.Snapshot.Nodes, &cluster.NodePods{Node: n})
	}
	e.config.Observer = fullNode{latest: latest, play: &play{ledger: e.ledger}}
	if facts := e.facts(noon); facts.Nodes != 4 || facts.NotReady != 1 {
		t.Errorf("%d of %d nodes are not ready, want 1 of 4", facts.NotReady, facts.Nodes)
	}
}

func TestDrainingNodesAreSeen(t *testing.T) {
	node := func(i int, change func(*cluster.Node)) *cluster.NodePods {
		info := &cluster.NodePods{Node: cluster.Node{Name: fmt.Sprint("n", i), Ready: true, Schedulable: true}}
		change(&info.Node)
		return info
	}
	signs := func(sign string, ago time.Duration) func(*cluster.Node) {
		return func(n *cluster.Node) { n.Since = map[string]time.Time{sign: noon.Add(-ago)} }
	}
	both := func(changes ...func(*cluster.Node)) func(*cluster.Node) {
		return func(n *cluster.Node) {
			for _, change := range changes {
				change(n)
			}
		}
	}
	calm, closed := func(*cluster.Node) {}, func(n *cluster.Node) { n.Schedulable = false }
	cordoned, forWeeks := both(closed, signs(cluster.CordonTaint, time.Second)), both(closed, signs(cluster.CordonTaint, 1000*time.Hour))
	marked, soft := func(n *cluster.Node) { n.Leaving = "karpenter.sh/disrupted" }, func(n *cluster.Node) { n.ClosedBy = "soft" }
	leaving := both(marked, signs("karpenter.sh/disrupted", time.Second))
	// A node that was cordoned long ago and now starts to leave counts as draining from now on.
	leavesNow := both(closed, marked, func(n *cluster.Node) {
		n.Since = map[string]time.Time{cluster.CordonTaint: noon.Add(-1000 * time.Hour), "karpenter.sh/disrupted": noon}
	})
	virtual := both(cordoned, func(n *cluster.Node) { n.Labels = map[string]string{"type": "virtual-kubelet"} })
	unselected := both(cordoned, func(n *cluster.Node) { n.Unselected = true })
	type nodes []func(*cluster.Node)
	for name, tc := range map[string]struct {
		before, nodes nodes
		want          reasons.Reason
	}{
		"none":                                {nil, nodes{calm, calm, calm, calm}, ""},
		"one":                                 {nil, nodes{calm, calm, calm, cordoned}, ""},
		"two":                                 {nil, nodes{calm, calm, leaving, cordoned}, reasons.NodesDraining},
		"two for weeks":                       {nil, nodes{calm, calm, forWeeks, forWeeks}, ""},
		"two for weeks, one now":              {nil, nodes{calm, forWeeks, forWeeks, cordoned}, ""},
		"cordoned for weeks, and leaving now": {nil, nodes{calm, calm, leavesNow, leavesNow}, reasons.NodesDraining},
		"since an unknown time":               {nil, nodes{calm, calm, marked, closed}, ""},
		"since a process before this one has seen":         {nodes{calm, calm, calm, calm}, nodes{calm, calm, marked, closed}, reasons.NodesDraining},
		"two that take no part":                            {nil, nodes{calm, calm, virtual, unselected}, ""},
		"two of three, among others that are not draining": {nil, nodes{calm, leaving, cordoned, calm, virtual, unselected, virtual, unselected}, reasons.NodesDraining},
		"merely unwanted":                                  {nil, nodes{calm, calm, soft, soft}, ""},
	} {
		moves := ledger.New(ledger.Config{})
		rules := safeguards.New(safeguards.Config{Breaker: safeguards.Breaker{MaxDrainingPercent: 10, StandBack: time.Minute}})
		var got reasons.Reason
		var detail string
		for i, nodes := range []nodes{tc.before, tc.nodes} {
			e := newEstate(t) // a new process, with the ledger of the previous one
			e.ledger.Adopt(moves.Export(), noon)
			e.config.Settings.Safeguards = rules
			snapshot := &cluster.Snapshot{}
			for i, change := range nodes {
				snapshot.Nodes = append(snapshot.Nodes, node(i, change))
			}
			if i == 0 && nodes == nil {
				continue
			}
			e.lookAround(snapshot, noon)
			moves = e.ledger
			got, detail = rules.At(safeguards.Facts{Unrest: &e.unrest}, noon).Closed()
		}
		if got != tc.want {
			t.Errorf("%s: closed by %q (%s), want %q", name, got, detail, tc.want)
		}
	}
}

// Three of ten nodes have been cordoned since the cluster was set up. A CronJob starts a new
// process each time, and evicting must not stand back because of them each time.
func TestACronJobBesideNodesThatAreCordonedForGood(t *testing.T) {
	for name, since := range map[string]map[string]time.Time{
		"the taint states since when": {cluster.CordonTaint: noon.Add(-1000 * time.Hour)},
		"nothing states since when":   nil,
	} {
		snapshot := &cluster.Snapshot{}
		for i := range 10 {
			n := cluster.Node{Name: fmt.Sprintf("n%d", i), Ready: true, Schedulable: i >= 3, Since: since}
			snapshot.Nodes = append(snapshot.Nodes, &cluster.NodePods{Node: n})
		}
		for hour := range 48 {
			e := newEstate(t)
			rules := safeguards.New(safeguards.Config{Breaker: safeguards.Breaker{MaxDrainingPercent: 10, StandBack: 30 * time.Minute}})
			e.config.Settings.Safeguards = rules
			for s := 0; s < 600; s += 15 {
				now := noon.Add(time.Duration(hour)*time.Hour + time.Duration(s)*time.Second)
				e.lookAround(snapshot, now)
				if closed, detail := rules.At(safeguards.Facts{Unrest: &e.unrest}, now).Closed(); closed != "" {
					t.Fatalf("%s: the run of hour %d is closed by %s (%s)", name, hour, closed, detail)
				}
			}
		}
	}
}
