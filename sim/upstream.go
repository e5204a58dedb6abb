package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/descheduler/pkg/descheduler/metricscollector"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/nodeutilization"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/sim/deschedulerapi"
)

// upstream runs upstream's LowNodeUtilization on a world.
type upstream struct {
	world  *world
	tally  *tally
	handle *deschedulerapi.Handle
	plugin frameworktypes.BalancePlugin
	// clock is the time of the next eviction, began the time at which the step began.
	clock, began time.Time
	random       *rand.Rand
}

// upstreamPace is the time between two evictions by upstream. Upstream does not pace
// them, so it is just the duration of a call.
const upstreamPace = 20 * time.Millisecond

func newUpstream(ctx context.Context, args *nodeutilization.LowNodeUtilizationArgs, seed uint64, w *world, t *tally) (*upstream, error) {
	u := &upstream{world: w, tally: t, random: rand.New(rand.NewPCG(seed, 4))} // reproducible on purpose
	u.handle = &deschedulerapi.Handle{World: stage{w}, By: u}
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

// cycle balances based on the measurements of the last step. Upstream's collector
// computes a moving mean every five seconds. After five minutes of a constant value, the
// mean is within 0.2% of that value, so a new collector that has collected once gives the
// same result.
func (u *upstream) cycle(ctx context.Context, now time.Time) error {
	u.clock, u.began = now, now.Truncate(Step)
	shown := measured{world: u.world}
	if past := u.world.usage.past; len(past) > 0 {
		shown.offsets = deschedulerapi.Distinguish(past[len(past)-1], u.random.Perm(len(u.world.nodes)))
	}
	u.handle.Collector = metricscollector.NewMetricsCollector(
		deschedulerapi.NewLister(u.world.nodes), deschedulerapi.NewClient(shown), labels.Everything())
	if err := u.handle.Collector.Collect(ctx); err != nil {
		return fmt.Errorf("collecting metrics for upstream: %w", err)
	}
	if status := u.plugin.Balance(ctx, u.world.nodes); status != nil && status.Err != nil {
		return status.Err
	}
	return nil
}

// Evict implements deschedulerapi.Evicting.
func (u *upstream) Evict(_ context.Context, pod *v1.Pod) error {
	if u.clock.Sub(u.began) >= Step-upstreamPace {
		return fmt.Errorf("the cycle has run out of time")
	}
	u.clock = u.clock.Add(upstreamPace)
	if err := u.world.until(u.clock); err != nil {
		return err
	}
	return evictFor(u.world, u.tally, pod.UID, u.clock)
}

// evictFor evicts a pod for a component that plans no destination.
func evictFor(w *world, t *tally, uid types.UID, now time.Time) error {
	replica, ok := w.byUID[uid]
	if !ok {
		return errGone
	}
	from := w.nodes[w.replicas[replica].node].Name
	to, err := w.evict(uid, now)
	switch {
	case err == nil:
		t.moved(from, to, w.reserved, replica)
	case apierrors.IsTooManyRequests(err):
		t.Refused++
	}
	return err
}

// measured holds what metrics.k8s.io would serve: the means of the last step, with
// offsets that make a run reproducible.
type measured struct {
	world   *world
	offsets []int64
}

// NodeUsage implements deschedulerapi.Usage.
func (m measured) NodeUsage(name string) v1.ResourceList {
	past, i := m.world.usage.past, m.world.index[name]
	if len(past) == 0 {
		return nil
	}
	used := past[len(past)-1][i]
	used[cluster.Memory] += m.offsets[i]
	return listOf(used)
}

// PodUsage implements deschedulerapi.Usage.
func (m measured) PodUsage(name string) v1.ResourceList {
	i, ok := m.world.names[name]
	if !ok {
		return nil
	}
	return listOf(m.world.replicas[i].measured)
}
