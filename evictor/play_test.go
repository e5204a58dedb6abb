package evictor

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	policylisters "k8s.io/client-go/listers/policy/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/evenkeel/evenkeel/evictor/owners"
	"github.com/evenkeel/evenkeel/evictor/safeguards"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
)

// script describes the world of a cycle. Whatever it leaves out is in order.
type script struct {
	pod      func(namespace, name string) *v1.Pod
	replicas func(*v1.Pod) int
	// owner changes the facts about the owner. unavailable is the number of its other pods that are
	// not ready. others are pods in addition to those that are moved.
	owner       func(*owners.Owner)
	unavailable func() int
	others      func() []*v1.Pod
	quotas      func() []*v1.ResourceQuota
	// change alters a planned move. cooled reports whether the hot node is no longer hot.
	change  func(*Move)
	cooled  func() bool
	blind   bool // there is no observation
	steered func(*ledger.Move) ledger.Proof
	proven  func() (bool, error)
	ready   func(*ledger.Leaving) (reasons.Reason, bool)
	asked   func() int64
	// restricts reports whether steering restricts replacements to a few nodes.
	restricts bool
	announce  func(context.Context)
	progress  func()
	now       func() time.Time
	paused    func(context.Context) error
	leads     func() error
	commit    func(context.Context) error
	dryRun    bool
	// lingers reports whether evicted pods keep terminating for the duration grace.
	lingers bool
	grace   time.Duration
	// lost reports whether replacements are recognized among the existing pods.
	lost bool

	interval, deadline, probeTimeout time.Duration
	ownerPercent                     float64
	limits                           Limits
}

// play is a cluster for a cycle, in the time of a synctest bubble. Evictions succeed unless an
// answer is scripted. Replacements are bound to their destination and become ready a while later.
type play struct {
	t             testing.TB
	start         time.Time
	ledger        *ledger.Ledger
	config        script
	pods          map[string]*v1.Pod // by name
	namespace     v1.Namespace       // that of every pod
	budgets       cache.Indexer
	answers       map[string][]error // the answers to the next evictions, by pod; nil means success
	evicted       []string           // "pod@seconds"
	unschedulable atomic.Int64
	unready       sync.Map // UIDs of replacements that are not ready
	away          sync.Map // names of evicted pods whose replacements are not ready
	filters       *placement.Filters
	landsIn       time.Duration // negative if never
	landsOn       string        // "" for the destination
	landsOf       string        // the kind of its owner, "" for a ReplicaSet
	readyIn       time.Duration
	notAsked      bool // kube-scheduler does not ask about replacements
	// landsAs returns the owner of a pod's replacement, and whether the replacement is created with
	// a node. If it is nil, replacements belong to ns/rs-1 and are created without a node.
	landsAs func(name string) (namespace, owner string, bound bool)
	undone  []string
	settled int
	// evict answers evictions in the API server's place.
	evict func(*v1.Pod, *Move) error
}

// playClient is a Client whose eviction calls are scripted.
type playClient struct {
	*Client
	play *play
}

func (c playClient) Read(_ context.Context, namespace, name string) (*v1.Pod, error) {
	pod := c.play.config.pod(namespace, name)
	if pod == nil {
		return nil, &reasons.Refusal{Reason: reasons.PodChanged, Detail: ""}
	}
	return pod, nil
}

func (c playClient) Evict(_ context.Context, pod *v1.Pod, move *Move, _ *policyv1.Eviction) error {
	err := c.play.evict(pod, move)
	if err == nil {
		c.remember(&move.Intent)
	}
	return err
}

// dryClient is the client of plugins in dry run.
type dryClient struct{ playClient }

func (c dryClient) Evict(_ context.Context, _ *v1.Pod, move *Move, _ *policyv1.Eviction) error {
	c.remember(&move.Intent)
	return nil
}

// playing runs a test in a synctest bubble.
func playing(t *testing.T, test func(*testing.T, *play)) {
	t.Helper()
	filters, err := placement.New(t.Context(), placement.Config{})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		p := &play{
			t: t, filters: filters, start: time.Now(), ledger: ledger.New(ledger.Config{}), pods: map[string]*v1.Pod{}, answers: map[string][]error{},
			budgets: byNamespace(),
			landsIn: 1900 * time.Millisecond, // between two looks
		}
		p.config = script{
			pod:      func(_, name string) *v1.Pod { return p.pods[name] },
			replicas: func(*v1.Pod) int { return 100 },
			now:      time.Now,
			interval: 200 * time.Millisecond, deadline: time.Minute, probeTimeout: 20 * time.Second, ownerPercent: 10,
		}
		p.evict = p.evictPod
		test(t, p)
	})
}

func byNamespace() cache.Indexer {
	return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}

// evictor returns the Evictor for the script.
func (p *play) evictor() *Evictor {
	p.t.Helper()
	settings := ClientConfig{Kube: &kubernetes.Clientset{}, Ledger: p.ledger, Authority: p, Timeout: time.Second, Clock: p, DryRun: p.config.dryRun}
	client, err := NewClient(settings)
	if err != nil {
		p.t.Fatal(err)
	}
	settings.DryRun = true
	dry, err := NewClient(settings)
	if err != nil {
		p.t.Fatal(err)
	}
	config := Config{
		Observer: p, Cluster: p, Evictions: playClient{client, p}, DryRun: dryClient{playClient{dry, p}}, Clock: p, Progress: p.config.progress,
		Settings: Settings{
			EvictJobs: true, SchedulerNames: []string{""},
			Interval: p.config.interval, Deadline: p.config.deadline, ProbeTimeout: p.config.probeTimeout,
			OwnerPercent: p.config.ownerPercent, Limits: p.config.limits, Safeguards: safeguards.New(safeguards.Config{Breaker: lenient}),
		},
	}
	if p.config.steered != nil {
		config.Steering = p
	}
	e, err := New(config)
	if err != nil {
		p.t.Fatal(err)
	}
	return e
}

// lenient never stops evicting.
var lenient = safeguards.Breaker{
	MaxPending: 99, MaxUnready: 99, PendingAfter: 24 * time.Hour, UnreadyAfter: 24 * time.Hour, MaxRefusedPercent: 100, MaxNotReadyPercent: 100,
}

func (p *play) Now() time.Time { return p.config.now() }

func (p *play) Local() time.Time { return time.Now() }

func (p *play) Ledger() *ledger.Ledger { return p.ledger }

// Latest returns an observation of a hot node, one that is not hot, and one that is cool.
func (p *play) Latest() *observer.Observation {
	if p.config.blind {
		return nil
	}
	if p.config.cooled != nil && p.config.cooled() {
		return seen(p.t, 5000)
	}
	return seen(p.t, 9700)
}

func (p *play) Pod(namespace, name string) *v1.Pod { return p.config.pod(namespace, name) }

// Siblings returns the pod and its owner's other ready pods.
func (p *play) Siblings(pod *v1.Pod) []*v1.Pod {
	others := p.config.replicas(pod) - 1
	if p.config.unavailable != nil {
		others -= p.config.unavailable()
	}
	p.away.Range(func(any, any) bool {
		others--
		return true
	})
	siblings := []*v1.Pod{pod}
	for i := range max(0, others) {
		siblings = append(siblings, replica(types.UID(fmt.Sprint("sibling-", i))))
	}
	return siblings
}

func (p *play) Owner(pod *v1.Pod) owners.Owner {
	owner := owners.Owner{}
	if p.config.replicas != nil {
		owner.Replicas = p.config.replicas(pod)
	}
	if p.config.owner != nil {
		p.config.owner(&owner)
	}
	return owner
}

func (p *play) Namespace(string) *v1.Namespace { return &p.namespace }

func (p *play) Waiting() []safeguards.Waiting {
	waiting := make([]safeguards.Waiting, p.unschedulable.Load())
	for i := range waiting {
		waiting[i] = safeguards.Waiting{
			Whose: safeguards.Whose{Namespace: fmt.Sprint("ns-", i%5), OwnerUID: fmt.Sprint("rs-", i)}, Since: p.config.now(),
		}
	}
	return waiting
}

func (p *play) Budgets(pod *v1.Pod) []*policyv1.PodDisruptionBudget {
	return (&Watched{budgets: policylisters.NewPodDisruptionBudgetLister(p.budgets)}).Budgets(pod)
}

func (p *play) Quotas(string) []*v1.ResourceQuota {
	if p.config.quotas == nil {
		return nil
	}
	return p.config.quotas()
}

func (p *play) Replacement(move *ledger.Move) ledger.Replacement {
	_, unready := p.unready.Load(move.Replacement)
	r := ledger.Replacement{Exists: true, Ready: !unready}
	if p.config.lost {
		pod := p.config.pod(move.Namespace, move.ReplacementName)
		r.Exists, r.Terminating = pod != nil && string(pod.UID) == move.Replacement, pod != nil && pod.DeletionTimestamp != nil
	}
	return r
}

func (p *play) Session(context.Context) (*placement.Session, error) {
	var nodes []*v1.Node
	for _, name := range []string{"cool", "hot", "warm"} {
		nodes = append(nodes, &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1.NodeStatus{Allocatable: v1.ResourceList{
			v1.ResourceCPU: resource.MustParse("10"), v1.ResourceMemory: resource.MustParse("100Gi"), v1.ResourcePods: resource.MustParse("110"),
		}}})
	}
	var pods []*v1.Pod
	if p.config.others != nil {
		pods = p.config.others()
	}
	for name := range p.pods {
		if pod := p.config.pod("ns", name); pod != nil {
			pods = append(pods, pod)
		}
	}
	if err := p.filters.Sync(nodes, pods); err != nil {
		return nil, err
	}
	return p.filters.Begin(), nil
}

func (p *play) Paused(ctx context.Context) error {
	if p.config.paused == nil {
		return nil
	}
	return p.config.paused(ctx)
}

func (p *play) Leads() error {
	if p.config.leads == nil {
		return nil
	}
	return p.config.leads()
}

func (p *play) Commit(ctx context.Context) error {
	if p.config.commit == nil {
		return nil
	}
	return p.config.commit(ctx)
}

func (p *play) Stored() bool { return true }

func (p *play) Announced(ctx context.Context) {
	if p.config.announce != nil {
		p.config.announce(ctx)
	}
}

func (p *play) Proven(context.Context) (bool, error) {
	if p.config.proven == nil {
		return false, nil
	}
	return p.config.proven()
}

func (p *play) Restricts(*ledger.Leaving) bool { return p.config.restricts }

func (p *play) Ready(_ context.Context, leaving *ledger.Leaving) (reasons.Reason, bool) {
	if p.config.ready == nil {
		return "", false
	}
	return p.config.ready(leaving)
}

func (p *play) Undo(_ context.Context, move *ledger.Intent) { p.undone = append(p.undone, move.Pod) }

func (p *play) Settle(ctx context.Context) {
	if ctx.Err() != nil {
		p.t.Error("no call of Settle's can succeed: its context is over")
	}
	p.settled++
}

func (p *play) Proves(_ context.Context, move *ledger.Move) ledger.Proof {
	return p.config.steered(move)
}

func (p *play) Asked(context.Context) int64 {
	if p.config.asked == nil {
		return 0
	}
	return p.config.asked()
}

// from returns a change to the owner that takes effect at a time.
func (p *play) from(at time.Duration, change func(*owners.Owner)) func(*owners.Owner) {
	return func(o *owners.Owner) {
		if time.Since(p.start) >= at {
			change(o)
		}
	}
}

func requesting(cpu string) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		pod.Spec.Containers = []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse(cpu)}}}}
	}
}

// steered makes the Executor probe. The probes return these answers in turn, and then the last one
// repeatedly.
func (p *play) steered(answers ...ledger.Proof) {
	p.config.steered = func(move *ledger.Move) ledger.Proof {
		if p.notAsked == move.Asked {
			p.t.Errorf("move of %q has asked=%v", move.Pod, move.Asked)
		}
		answer := answers[0]
		if len(answers) > 1 {
			answers = answers[1:]
		}
		return answer
	}
}

func (p *play) budget(name string, allowed int32, version string) {
	pdb := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: version},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	}
	if err := p.budgets.Add(pdb); err != nil {
		p.t.Fatal(err)
	}
}

// after does something later. Every goroutine of a play must end before its bubble does.
func (p *play) after(d time.Duration, do func()) {
	go func() {
		time.Sleep(d)
		do()
	}()
}

// evictPod answers an eviction as scripted.
func (p *play) evictPod(pod *v1.Pod, move *Move) error {
	if p.config.dryRun {
		return nil
	}
	if answers := p.answers[pod.Name]; len(answers) > 0 {
		p.answers[pod.Name] = answers[1:]
		if answers[0] != nil {
			p.note("!"+pod.Name, time.Now())
			return answers[0]
		}
	}
	if !p.ledger.Moving(move.PodUID) {
		return &reasons.Refusal{Reason: reasons.MoveCancelled, Detail: ""}
	}
	p.ledger.Leaves(move.PodUID, time.Now())
	p.note(pod.Name, time.Now())
	if delete(p.pods, pod.Name); p.config.lingers {
		leaving := pod.DeepCopy()
		leaving.DeletionTimestamp = &metav1.Time{Time: time.Now().Add(p.config.grace)}
		p.pods[pod.Name] = leaving
	}
	p.away.Store(pod.Name, true)
	p.land(pod.Name, move.To)
	return nil
}

func (p *play) note(what string, at time.Time) {
	p.evicted = append(p.evicted, fmt.Sprintf("%s@%.1f", what, at.Sub(p.start).Seconds()))
}

func (p *play) land(name, to string) {
	if p.landsIn < 0 {
		return
	}
	if p.landsOn != "" {
		to = p.landsOn
	}
	p.after(p.landsIn, func() {
		pod := ledger.Pod{UID: "new-" + name, Namespace: "ns", Name: "new-" + name, OwnerUID: "rs-1", OwnerKind: cmp.Or(p.landsOf, "ReplicaSet"), TemplateHash: "h1"}
		comesBound := false
		if p.landsAs != nil {
			pod.Namespace, pod.OwnerUID, comesBound = p.landsAs(name)
		}
		if !p.notAsked && !comesBound {
			p.ledger.Match(pod, time.Now())
		}
		if !comesBound {
			p.ledger.Created(pod)
		}
		p.unready.Store(pod.UID, true)
		p.ledger.Bound(pod, to, time.Now())
		p.after(p.readyIn, func() {
			p.unready.Delete(pod.UID)
			p.away.Delete(name)
		})
	})
}

// run makes the moves of pods and returns their results, in the order of the decisions.
func (p *play) run(names ...string) []string {
	p.t.Helper()
	got := p.runWith(p.evictor(), names...)
	time.Sleep(10 * time.Minute) // everything that was started has ended by then
	return got
}

func (p *play) runWith(executor *Evictor, names ...string) []string {
	var moves []Move
	for _, name := range names {
		move := moveOf(name)
		if p.config.change != nil {
			p.config.change(&move)
		}
		moves = append(moves, move)
		if p.pods[name] == nil {
			p.pods[name] = aPod(name)
		}
	}
	var got []string
	for _, result := range carryOut(p.t.Context(), executor, moves) {
		if result.Reason == "" {
			got = append(got, result.Move.Pod)
			continue
		}
		got = append(got, fmt.Sprintf("%s: %s", result.Move.Pod, result.Reason))
	}
	return got
}

// carryOut makes moves as Make does, and returns their results.
func carryOut(ctx context.Context, e *Evictor, moves []Move) []Result {
	x := e.Begin(ctx, moves, anyProfile)
	for ctx.Err() == nil {
		next := x.Step(ctx)
		if next.Over {
			break
		}
		Sleep(ctx, next.Wait)
	}
	return x.End(ctx)
}

// moveFor returns the Move of a plan that has no other.
func moveFor(e *Evictor, planned *strategies.Move) Move {
	return e.Moves(&strategies.Plan{Moves: []strategies.Move{*planned}}, &strategies.Profile{Strategy: "RealUsageLowNodeUtilization"})[0]
}

func tooMany(seconds int) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", seconds)
	return err
}
