package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	policyv1client "k8s.io/client-go/kubernetes/typed/policy/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"sigs.k8s.io/descheduler/pkg/descheduler/evictions"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
	"sigs.k8s.io/descheduler/pkg/features"
	"sigs.k8s.io/descheduler/pkg/framework/pluginregistry"
	frameworkprofile "sigs.k8s.io/descheduler/pkg/framework/profile"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/internal/testkit/landings"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
)

// unwrapped runs upstream's plugins with upstream's evictor.
type unwrapped struct {
	evictor  *evictions.PodEvictor
	profiles []interface {
		RunDeschedulePlugins(ctx context.Context, nodes []*v1.Node) *frameworktypes.Status
		RunBalancePlugins(ctx context.Context, nodes []*v1.Node) *frameworktypes.Status
	}
	nodes []*v1.Node
}

func newUnwrapped(ctx context.Context, t testing.TB, s *landings.Scenario, client kubernetes.Interface, pods func() []*v1.Pod) *unwrapped {
	t.Helper()
	policyfile.SetupPlugins()
	file, err := policy.Load("policy.yaml", []byte(s.Policy), kinds.All)
	if err != nil {
		t.Fatal(err)
	}
	profiles, _, err := policyfile.Profiles(file)
	if err != nil {
		t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	limits := evictions.NewOptions().WithPolicyGroupVersion("policy/v1").WithMaxPodsToEvictPerNode(profiles.MaxNoOfPodsToEvictPerNode).
		WithMaxPodsToEvictPerNamespace(profiles.MaxNoOfPodsToEvictPerNamespace).WithMaxPodsToEvictTotal(profiles.MaxNoOfPodsToEvictTotal)
	d := &unwrapped{}
	d.evictor, err = evictions.NewPodEvictor(ctx, client, &events.FakeRecorder{}, factory.Core().V1().Pods().Informer(), features.DefaultMutableFeatureGate, limits)
	if err != nil {
		t.Fatal(err)
	}
	on := func(node string, filter podutil.FilterFunc) (found []*v1.Pod, err error) {
		for _, pod := range pods() {
			if pod.Spec.NodeName == node && (filter == nil || filter(pod)) {
				found = append(found, pod)
			}
		}
		return found, nil
	}
	for i := range profiles.Profiles {
		p, err := frameworkprofile.NewProfile(ctx, profiles.Profiles[i], pluginregistry.PluginRegistry,
			frameworkprofile.WithClientSet(client), frameworkprofile.WithSharedInformerFactory(factory), frameworkprofile.WithPodEvictor(d.evictor),
			frameworkprofile.WithGetPodsAssignedToNodeFnc(on), frameworkprofile.WithProfileInstanceID(fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		d.profiles = append(d.profiles, p)
	}
	for i := range s.Nodes {
		d.nodes = append(d.nodes, s.Nodes[i].Object())
	}
	return d
}

// run runs one cycle.
func (d *unwrapped) run(ctx context.Context) error {
	d.evictor.ResetCounters()
	for _, p := range d.profiles {
		if status := p.RunDeschedulePlugins(ctx, d.nodes); status != nil && status.Err != nil {
			return status.Err
		}
	}
	for _, p := range d.profiles {
		if status := p.RunBalancePlugins(ctx, d.nodes); status != nil && status.Err != nil {
			return status.Err
		}
	}
	return nil
}

// asking is a clientset that reports evictions but does not make them.
type asking struct {
	kubernetes.Interface
	asked func(pod string)
}

func (a asking) PolicyV1() policyv1client.PolicyV1Interface {
	return askingPolicy{a.Interface.PolicyV1(), a.asked}
}

type askingPolicy struct {
	policyv1client.PolicyV1Interface
	asked func(pod string)
}

func (a askingPolicy) Evictions(string) policyv1client.EvictionInterface {
	return asked{asked: a.asked}
}

type asked struct {
	policyv1client.EvictionInterface
	asked func(pod string)
}

// Evict implements policyv1client.EvictionInterface.
func (a asked) Evict(_ context.Context, eviction *policyv1.Eviction) error {
	a.asked(eviction.Name)
	return nil
}

// search tries all evictions to find the fewest that lead to the best placement.
type search struct {
	t           testing.TB
	scenario    *landings.Scenario
	scheduler   *kubeScheduler
	descheduler *unwrapped
	pods        []*v1.Pod
	// wanted are the workloads whose pods the plugin asks to evict.
	wanted map[string]bool
	// steered reports whether a replacement may go to any node that accepts it, and not only where
	// kube-scheduler would put it.
	steered bool
}

func newSearch(ctx context.Context, t testing.TB, s *landings.Scenario, steered bool) *search {
	t.Helper()
	stage := newStage(ctx, t, s)
	found := &search{t: t, scenario: s, scheduler: stage.scheduler, wanted: map[string]bool{}, steered: steered}
	client := asking{stage.Interface, func(pod string) { found.wanted[podWorkload(s, pod).Name] = true }}
	found.descheduler = newUnwrapped(ctx, t, s, client, func() []*v1.Pod { return found.pods })
	return found
}

// ask returns how many evictions the plugin asks for with these pods.
func (s *search) ask(pods []*v1.Pod) int {
	s.pods = pods
	if err := s.descheduler.run(s.scheduler.ctx); err != nil {
		s.t.Fatal(err)
	}
	return int(s.descheduler.evictor.TotalEvicted())
}

// key identifies a placement. Replicas of a workload are interchangeable.
func (s *search) key(pods []*v1.Pod) string {
	counts := map[string]int{}
	for _, pod := range pods {
		counts[podWorkload(s.scenario, pod.Name).Name+"@"+pod.Spec.NodeName]++
	}
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		fmt.Fprintf(&b, "%s=%d ", k, counts[k])
	}
	return b.String()
}

// places returns the nodes on which a replacement could land.
func (s *search) places(pod *v1.Pod, others []*v1.Pod) ([]string, error) {
	if !s.steered {
		return s.scheduler.best(pod, others, nil)
	}
	infos, err := s.scheduler.feasible(framework.NewCycleState(), pod, others)
	return nodeNames(infos), err
}

// run tries all sequences of evictions up to depth, and for each replacement all nodes on which it
// could land.
func (s *search) run(depth int) landings.Fewest {
	var start []*v1.Pod
	for i := range s.scenario.Workloads {
		start = append(start, s.scenario.Workloads[i].Placed(time.Now())...)
	}
	asked := s.ask(start)
	result := landings.Fewest{Asked: asked, Least: asked}
	level, seen := [][]*v1.Pod{start}, map[string]bool{s.key(start): true}
	for made := 1; made <= depth && result.Least > 0; made++ {
		var next [][]*v1.Pod
		for _, pods := range level {
			tried := map[string]bool{}
			for i, pod := range pods {
				workload := podWorkload(s.scenario, pod.Name).Name
				kind := workload + "@" + pod.Spec.NodeName
				if tried[kind] || !s.wanted[workload] {
					continue
				}
				tried[kind] = true
				others := slices.Delete(slices.Clone(pods), i, i+1)
				nodes, err := s.places(pod, others)
				if err != nil {
					s.t.Fatal(err)
				}
				for _, node := range nodes {
					moved := pod.DeepCopy()
					moved.Spec.NodeName = node
					after := append(slices.Clone(others), moved)
					key := s.key(after)
					if seen[key] {
						continue
					}
					seen[key] = true
					next = append(next, after)
					if asks := s.ask(after); asks < result.Least {
						result.Least, result.Evictions = asks, made
					}
				}
			}
		}
		level = next
	}
	return result
}
