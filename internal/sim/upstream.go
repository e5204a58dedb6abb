package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/metrics/pkg/apis/metrics/v1beta1"
	"k8s.io/metrics/pkg/client/clientset/versioned"
	typed "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	"sigs.k8s.io/descheduler/pkg/descheduler/metricscollector"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/nodeutilization"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/evenkeel/evenkeel/cluster"
)

// upstream runs LowNodeUtilization on a world.
type upstream struct {
	world  *world
	tally  *tally
	handle *handle
	plugin frameworktypes.BalancePlugin
	// clock is the time of the next eviction, began the start of the step.
	clock, began time.Time
	random       *rand.Rand
}

// upstreamPace is the time between two of its evictions: it does not pace them,
// only its calls take time.
const upstreamPace = 20 * time.Millisecond

func newUpstream(ctx context.Context, args *nodeutilization.LowNodeUtilizationArgs, seed uint64, w *world, t *tally) (*upstream, error) {
	u := &upstream{world: w, tally: t, random: rand.New(rand.NewPCG(seed, 4))} // reproducible on purpose
	u.handle = &handle{world: w, by: u}
	plugin, err := nodeutilization.NewLowNodeUtilization(ctx, args, u.handle)
	if err != nil {
		return nil, fmt.Errorf("making upstream's LowNodeUtilization: %w", err)
	}
	balance, ok := plugin.(frameworktypes.BalancePlugin)
	if !ok {
		return nil, fmt.Errorf("upstream's LowNodeUtilization is %T", plugin)
	}
	u.plugin = balance
	return u, nil
}

// cycle balances on what was measured in the last step. Upstream's collector
// takes a moving mean every five seconds. After five minutes of a constant
// value that is within 0.2% of it, so a new collector that has collected once
// gives the same.
func (u *upstream) cycle(ctx context.Context, now time.Time) error {
	u.clock, u.began = now, now.Truncate(Step)
	u.handle.collector = metricscollector.NewMetricsCollector(nodeLister{world: u.world},
		metricsClient{world: u.world, offsets: distinguish(u.world.usage.past, u.random.Perm(len(u.world.nodes)))}, labels.Everything())
	if err := u.handle.collector.Collect(ctx); err != nil {
		return fmt.Errorf("collecting metrics for upstream: %w", err)
	}
	if status := u.plugin.Balance(ctx, u.world.nodes); status != nil && status.Err != nil {
		return status.Err
	}
	return nil
}

func (u *upstream) evict(_ context.Context, pod *v1.Pod) error {
	if u.clock.Sub(u.began) >= Step-upstreamPace {
		return fmt.Errorf("the cycle has run out of time")
	}
	u.clock = u.clock.Add(upstreamPace)
	if err := u.world.until(u.clock); err != nil {
		return err
	}
	replica, ok := u.world.replicaOf(string(pod.UID))
	if !ok {
		return errGone
	}
	from := pod.Spec.NodeName
	to, err := u.world.evict(pod.UID, u.clock)
	switch {
	case err == nil:
		u.tally.moved(from, to, "", replica)
	case apierrors.IsTooManyRequests(err):
		u.tally.Refused++
	}
	return err
}

// nodeLister lists a world's nodes.
type nodeLister struct {
	listers.NodeLister

	world *world
}

func (l nodeLister) List(labels.Selector) ([]*v1.Node, error) { return l.world.nodes, nil }

// metricsClient serves what metrics.k8s.io would: the means of the last step.
// Methods that upstream does not call are missing.
//
// Upstream picks among equally hot nodes by Go's random map order. So that a
// run can be repeated no two nodes are equal: offsets holds the bytes of memory
// that are added to each.
type metricsClient struct {
	versioned.Interface
	typed.MetricsV1beta1Interface

	world   *world
	offsets []int64
}

// distinguish makes the sums of milliCPU and bytes that upstream sorts by
// unique, in the order of turns.
func distinguish(past [][]cluster.Amounts, turns []int) []int64 {
	if len(past) == 0 {
		return nil
	}
	used, added, taken := past[len(past)-1], make([]int64, len(turns)), make(map[int64]bool, len(turns))
	for _, i := range turns {
		total := used[i][cluster.CPU] + used[i][cluster.Memory]
		for taken[total+added[i]] {
			added[i]++
		}
		taken[total+added[i]] = true
	}
	return added
}

func (c metricsClient) MetricsV1beta1() typed.MetricsV1beta1Interface { return c }

func (c metricsClient) NodeMetricses() typed.NodeMetricsInterface {
	return nodeMetrics{metricsClient: c}
}

func (c metricsClient) PodMetricses(string) typed.PodMetricsInterface {
	return podMetrics{world: c.world}
}

type nodeMetrics struct {
	typed.NodeMetricsInterface
	metricsClient
}

func (m nodeMetrics) Get(_ context.Context, name string, _ metav1.GetOptions) (*v1beta1.NodeMetrics, error) {
	past, i := m.world.usage.past, m.world.index[name]
	if len(past) == 0 {
		return nil, fmt.Errorf("node %q has no measurement yet", name)
	}
	used := past[len(past)-1][i]
	used[cluster.Memory] += m.offsets[i]
	return &v1beta1.NodeMetrics{ObjectMeta: metav1.ObjectMeta{Name: name}, Usage: listOf(used)}, nil
}

type podMetrics struct {
	typed.PodMetricsInterface

	world *world
}

func (m podMetrics) Get(_ context.Context, name string, _ metav1.GetOptions) (*v1beta1.PodMetrics, error) {
	i, ok := m.world.byName(name)
	if !ok {
		return nil, errGone
	}
	return &v1beta1.PodMetrics{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Containers: []v1beta1.ContainerMetrics{{Name: "c", Usage: listOf(m.world.replicas[i].last)}},
	}, nil
}
