package contest_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/sim/contest"
	"github.com/evenkeel/evenkeel/sim/rivals"
)

// board is a world of nodes with 1000 milli-cores and 1000 bytes that records all actions. It makes
// reservations on the last node that the player admits.
type board struct {
	now    time.Time
	player *contest.Player
	nodes  []rivals.Node
	past   map[string][]cluster.Amounts
	// unreserved is the number of reservations that fail at first.
	unreserved int
	// refuses reports whether budgets forbid evictions.
	refuses bool

	evicted []eviction
	taints  map[string]int
}

type eviction struct {
	Pod  int
	Node string
}

func (b *board) Now() time.Time            { return b.now }
func (b *board) Until(now time.Time) error { b.now = now; return nil }
func (b *board) Nodes() []rivals.Node      { return b.nodes }

func (b *board) Node(name string) rivals.Node {
	for _, node := range b.nodes {
		if node.Name == name {
			return node
		}
	}
	return rivals.Node{}
}

func (b *board) Past(name string, _ time.Duration) []cluster.Amounts { return b.past[name] }
func (b *board) Owner(int) rivals.Owner                              { return rivals.Owner{Wanted: 10} }

func (b *board) Evict(pod *rivals.Pod, node string) (bool, error) {
	if b.refuses {
		return false, nil
	}
	b.evicted = append(b.evicted, eviction{pod.ID, node})
	for i := range b.nodes {
		for k := range b.nodes[i].Pods {
			if b.nodes[i].Pods[k].ID == pod.ID {
				b.nodes[i].Pods = append(b.nodes[i].Pods[:k:k], b.nodes[i].Pods[k+1:]...)
				return true, nil
			}
		}
	}
	return true, nil
}

func (b *board) Reserve(*rivals.Pod) (string, error) {
	var names []string
	for _, node := range b.nodes {
		names = append(names, node.Name)
	}
	kept := b.player.Filter(asking(100, 100), names)
	if b.unreserved--; b.unreserved >= 0 || len(kept) == 0 {
		return "", nil
	}
	return names[kept[len(kept)-1]], nil
}

func (b *board) Taint(node string, taints int) error {
	if b.taints == nil {
		b.taints = map[string]int{}
	}
	b.taints[node] = taints
	return nil
}

func asking(cpu, memory int64) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1.PodSpec{Containers: []v1.Container{{
		Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
			v1.ResourceCPU: *resource.NewMilliQuantity(cpu, resource.DecimalSI), v1.ResourceMemory: *resource.NewQuantity(memory, resource.BinarySI),
		}},
	}}}}
}

var noon = time.Date(2026, 1, 5, 12, 0, 30, 0, time.UTC)

func node(name string, cpu int64, pods ...rivals.Pod) rivals.Node {
	used := cluster.Amounts{cpu, 0}
	return rivals.Node{Name: name, Capacity: cluster.Amounts{1000, 1000}, Demand: used, Used: used, Pods: pods}
}

func pod(id int, cpu int64) rivals.Pod {
	return rivals.Pod{ID: id, Owner: id, Used: cluster.Amounts{cpu, 0}, Bound: noon.Add(-time.Hour), Ready: noon.Add(-time.Hour)}
}

func play(t *testing.T, name contest.Name, b *board, until time.Duration) {
	t.Helper()
	b.now, b.player = noon, contest.New(name)
	b.player.Join(b)
	if err := b.player.Cycle(t.Context(), noon.Add(until)); err != nil {
		t.Fatal(err)
	}
}

// Koordinator evicts a pod only once a place is reserved, which is neither on the pod's own node
// nor on a node that is expected to be above 65%.
func TestKoordinatorReservesFirst(t *testing.T) {
	at := func() *board {
		return &board{nodes: []rivals.Node{node("low", 0), node("hot", 0, pod(1, 390), pod(2, 390)), node("middle", 0, pod(3, 600))}}
	}
	for name, tc := range map[string]struct {
		change func(*board)
		until  time.Duration
		want   []eviction
	}{
		"five looks":            {nil, 50 * time.Second, nil},
		"six looks":             {nil, 60 * time.Second, []eviction{{1, "low"}}},
		"no place at first":     {func(b *board) { b.unreserved = 2 }, 70 * time.Second, nil},
		"a place later":         {func(b *board) { b.unreserved = 2 }, 80 * time.Second, []eviction{{1, "low"}}},
		"refused by its budget": {func(b *board) { b.refuses = true }, 5 * time.Minute, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := at()
			if tc.change != nil {
				tc.change(b)
			}
			play(t, contest.Koordinator, b, tc.until)
			if diff := cmp.Diff(tc.want, b.evicted); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// OpenShift taints nodes before it evicts, and plans no destinations.
func TestOpenShiftTaints(t *testing.T) {
	b := &board{nodes: []rivals.Node{node("low", 100), node("hot", 900, pod(1, 900)), node("middle", 560)}}
	play(t, contest.OpenShift, b, 5*time.Minute)
	// The mean is 52%. 4 points above it are a distance of 12, and 38 points one of 100. The mean
	// of the distances is 37.
	if diff := cmp.Diff(map[string]int{"low": 0, "hot": 2, "middle": 0}, b.taints); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]eviction{{1, ""}}, b.evicted); diff != "" {
		t.Errorf("evicted (-want +got):\n%s", diff)
	}
}

func TestPrioritize(t *testing.T) {
	b := &board{
		nodes: []rivals.Node{node("idle", 0), node("busy", 500, pod(1, 500)), {Name: "unmeasured", Unmeasured: true}},
		past:  map[string][]cluster.Amounts{"idle": {{0, 0}}, "busy": {{400, 0}, {600, 0}}},
	}
	for name, want := range map[contest.Name][]int64{
		contest.Koordinator:  {92, 67, 0}, // (91.5+93)/2 and (41.5+93)/2, each rounded down
		contest.Trimaran:     {63, 23, 0}, // 60*15/40+40 and 40*35/60, rounded
		contest.TrimaranRisk: {95, 65, 0}, // 1 - 0.1/2, 1 - (0.6+0.1)/2
	} {
		t.Run(string(name), func(t *testing.T) {
			b.now, b.player = noon, contest.New(name)
			b.player.Join(b)
			if diff := cmp.Diff(want, b.player.Prioritize(asking(100, 100), []string{"idle", "busy", "unmeasured"})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
