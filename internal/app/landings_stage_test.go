package app

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authorizationv1 "k8s.io/api/authorization/v1"
	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	policyv1client "k8s.io/client-go/kubernetes/typed/policy/v1"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	intree "k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	schedulerruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/testkit/landings"
	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/scorer/answer"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// stage is a cluster in memory: a fake API server, and fakes of the controllers and the
// scheduler that replace and place evicted pods. It must run in a synctest bubble.
type stage struct {
	kubernetes.Interface // evicts through the stage

	t         testing.TB
	ctx       context.Context
	scenario  *landings.Scenario
	posts     rest.Interface // sends evictions to the stage
	scheduler *kubeScheduler
	// answerer is what kube-scheduler asks as its extender; nil if it asks none.
	answerer *answer.Answerer

	began time.Time

	mu      sync.Mutex // one placement at a time, as in kube-scheduler
	evicted []left
	landed  []landed
	made    int
}

// left is an eviction.
type left struct {
	at                  time.Time
	pod, workload, node string
}

// landed records from which node a pod was evicted, and to which its replacement was bound.
type landed struct{ from, to string }

// An eviction call takes callTime. The replacement is created and bound reactTime later, well
// before the next eviction, and is ready after startTime.
const (
	callTime  = 200 * time.Millisecond
	reactTime = 20 * time.Millisecond
	startTime = 5 * time.Second
)

func newStage(ctx context.Context, t testing.TB, s *landings.Scenario) *stage {
	t.Helper()
	client := fake.NewClientset(s.Objects(time.Now())...)
	client.PrependReactor("create", "selfsubjectaccessreviews", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, &authorizationv1.SelfSubjectAccessReview{Status: authorizationv1.SubjectAccessReviewStatus{Allowed: true}}, nil
	})
	stage := &stage{Interface: client, t: t, ctx: ctx, scenario: s, began: time.Now()}
	var err error
	stage.posts, err = rest.RESTClientFor(&rest.Config{
		Host: "http://stage", APIPath: "/api", Transport: stage,
		ContentConfig: rest.ContentConfig{GroupVersion: &v1.SchemeGroupVersion, NegotiatedSerializer: scheme.Codecs.WithoutConversion()},
	})
	if err != nil {
		t.Fatal(err)
	}
	if stage.scheduler, err = newKubeScheduler(ctx, client, s); err != nil {
		t.Fatal(err)
	}
	return stage
}

// IsWatchListSemanticsUnSupported makes informers list, because watches of the fake client do not
// start with the existing objects.
func (*stage) IsWatchListSemanticsUnSupported() bool { return true }

// PolicyV1 implements kubernetes.Interface.
func (s *stage) PolicyV1() policyv1client.PolicyV1Interface {
	return stagePolicy{s.Interface.PolicyV1(), s}
}

type stagePolicy struct {
	policyv1client.PolicyV1Interface
	stage *stage
}

func (p stagePolicy) Evictions(namespace string) policyv1client.EvictionInterface {
	return stageEvictions{p.PolicyV1Interface.Evictions(namespace), p.stage}
}

type stageEvictions struct {
	policyv1client.EvictionInterface
	stage *stage
}

// Evict implements policyv1client.EvictionInterface.
func (e stageEvictions) Evict(_ context.Context, eviction *policyv1.Eviction) error {
	return e.stage.evict(eviction)
}

// CoreV1 implements kubernetes.Interface.
func (s *stage) CoreV1() corev1client.CoreV1Interface {
	return stageCore{s.Interface.CoreV1(), s.posts}
}

type stageCore struct {
	corev1client.CoreV1Interface
	posts rest.Interface
}

// RESTClient implements corev1client.CoreV1Interface. It posts evictions.
func (c stageCore) RESTClient() rest.Interface { return c.posts }

// RoundTrip implements http.RoundTripper for evictions.
func (s *stage) RoundTrip(request *http.Request) (*http.Response, error) {
	var eviction policyv1.Eviction
	if err := json.NewDecoder(request.Body).Decode(&eviction); err != nil || request.Method != http.MethodPost {
		return nil, fmt.Errorf("%s %s is not an eviction: %w", request.Method, request.URL, err)
	}
	answer := metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess, Code: http.StatusCreated}
	if err := s.evict(&eviction); err != nil {
		refused := apierrors.NewInternalError(err)
		errors.As(err, &refused)
		answer.Status, answer.Code, answer.Reason = metav1.StatusFailure, refused.ErrStatus.Code, refused.ErrStatus.Reason
	}
	content, err := json.Marshal(answer)
	return &http.Response{
		StatusCode: int(answer.Code), Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(content)), Request: request,
	}, err
}

// evict deletes a pod, and has its ReplicaSet replace it.
func (s *stage) evict(eviction *policyv1.Eviction) error {
	time.Sleep(callTime)
	pods := s.Interface.CoreV1().Pods(eviction.Namespace)
	pod, err := pods.Get(s.ctx, eviction.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := pods.Delete(s.ctx, pod.Name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	workload := podWorkload(s.scenario, pod.Name)
	s.mu.Lock()
	s.evicted = append(s.evicted, left{at: time.Now(), pod: pod.Name, workload: workload.Name, node: pod.Spec.NodeName})
	s.mu.Unlock()
	if !workload.Job {
		go s.replace(pod, workload)
	}
	return nil
}

// podWorkload returns the workload of a pod.
func podWorkload(s *landings.Scenario, pod string) *landings.Workload {
	for i := range s.Workloads {
		if strings.HasPrefix(pod, s.Workloads[i].Name+"-") {
			return &s.Workloads[i]
		}
	}
	return nil
}

// replace creates a pod in place of an evicted one, binds it and lets it start.
func (s *stage) replace(old *v1.Pod, workload *landings.Workload) {
	time.Sleep(reactTime / 2)
	s.mu.Lock()
	s.made++
	pod := workload.Pod(fmt.Sprintf("%s-r%d", workload.Name, s.made), time.Now())
	s.mu.Unlock()
	pods := s.Interface.CoreV1().Pods(pod.Namespace)
	if _, err := pods.Create(s.ctx, pod, metav1.CreateOptions{}); err != nil {
		s.failed(err)
		return
	}
	time.Sleep(reactTime / 2)
	node := s.bind(pod)
	for node == "" { // kube-scheduler tries again
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(time.Second):
		}
		node = s.bind(pod)
	}
	s.mu.Lock()
	s.landed = append(s.landed, landed{from: old.Spec.NodeName, to: node})
	s.mu.Unlock()
	select {
	case <-s.ctx.Done():
	case <-time.After(startTime):
		landings.Start(pod, time.Now())
		if _, err := pods.Update(s.ctx, pod, metav1.UpdateOptions{}); err != nil && !apierrors.IsNotFound(err) { // the pod may have been evicted
			s.failed(err)
		}
	}
}

func (s *stage) failed(err error) {
	if s.ctx.Err() == nil {
		s.t.Error(err)
	}
}

// bind places a pod, and returns its node; empty if it fits nowhere.
func (s *stage) bind(pod *v1.Pod) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	best, err := s.scheduler.best(pod, s.pods(), s.answerer)
	if err != nil {
		s.failed(err)
		return ""
	}
	if len(best) == 0 {
		return ""
	}
	pod.Spec.NodeName = best[s.scheduler.random.IntN(len(best))]
	if _, err := s.Interface.CoreV1().Pods(pod.Namespace).Update(s.ctx, pod, metav1.UpdateOptions{}); err != nil {
		s.failed(err)
		return ""
	}
	return pod.Spec.NodeName
}

// pods returns all pods that have a node.
func (s *stage) pods() []*v1.Pod {
	list, err := s.Interface.CoreV1().Pods("").List(s.ctx, metav1.ListOptions{})
	if err != nil {
		s.failed(err)
		return nil
	}
	var bound []*v1.Pod
	for i := range list.Items {
		if list.Items[i].Spec.NodeName != "" {
			bound = append(bound, &list.Items[i])
		}
	}
	return bound
}

// kubeScheduler is kube-scheduler's default profile for a given list of pods: its filters, its
// scores with their weights, and the default spread constraints.
type kubeScheduler struct {
	ctx     context.Context
	plugins framework.Framework
	// nodes are sorted by name.
	nodes  []*v1.Node
	now    *current
	random *rand.Rand
}

// current is the snapshot for the placement in progress.
type current struct{ *cache.Snapshot }

// profiled are the plugins of the default profile, except those for volumes and images.
var profiled = []string{
	names.NodeUnschedulable, names.NodeName, names.TaintToleration, names.NodeAffinity, names.NodePorts, names.NodeResourcesFit, names.PodTopologySpread,
	names.InterPodAffinity, names.NodeResourcesBalancedAllocation,
}

func newKubeScheduler(ctx context.Context, client kubernetes.Interface, s *landings.Scenario) (*kubeScheduler, error) {
	placement.InitMetrics()
	ctx = klog.NewContext(ctx, logr.Discard())
	profile, err := placement.NewProfile(func(defaults *config.Plugins) *config.Plugins {
		set := config.PluginSet{}
		for _, plugin := range defaults.MultiPoint.Enabled {
			if slices.Contains(profiled, plugin.Name) {
				set.Enabled = append(set.Enabled, plugin)
			}
		}
		return &config.Plugins{MultiPoint: set}
	})
	if err != nil {
		return nil, err
	}
	for i := range profile.PluginConfig {
		switch args := profile.PluginConfig[i].Args.(type) {
		case *config.PodTopologySpreadArgs:
			args.DefaultingType = config.SystemDefaulting
		case *config.NodeResourcesFitArgs:
			if s.Packs {
				args.ScoringStrategy.Type = config.MostAllocated
			}
		}
	}
	k := &kubeScheduler{ctx: ctx, now: &current{}, random: rand.New(rand.NewPCG(1, 2))}
	for i := range s.Nodes {
		k.nodes = append(k.nodes, s.Nodes[i].Object())
	}
	slices.SortFunc(k.nodes, func(a, b *v1.Node) int { return cmp.Compare(a.Name, b.Name) })
	factory := informers.NewSharedInformerFactory(client, 0)
	k.plugins, err = schedulerruntime.NewFramework(ctx, intree.NewInTreeRegistry(), profile,
		schedulerruntime.WithInformerFactory(factory), schedulerruntime.WithSnapshotSharedLister(k.now), schedulerruntime.WithParallelism(1))
	if err != nil {
		return nil, fmt.Errorf("building kube-scheduler's plugins: %w", err)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return k, nil
}

// feasible returns the nodes that accept a pod.
func (k *kubeScheduler) feasible(state fwk.CycleState, pod *v1.Pod, bound []*v1.Pod) (found []fwk.NodeInfo, err error) {
	k.now.Snapshot = cache.NewSnapshot(bound, k.nodes)
	pod = pod.DeepCopy()
	pod.Spec.NodeName = ""
	wanted, status, _ := k.plugins.RunPreFilterPlugins(k.ctx, state, pod)
	if status.IsRejected() {
		return nil, nil
	}
	if !status.IsSuccess() {
		return nil, status.AsError()
	}
	for _, node := range k.nodes {
		info, err := k.now.NodeInfos().Get(node.Name)
		if err != nil {
			return nil, err
		}
		if (wanted.AllNodes() || wanted.NodeNames.Has(node.Name)) && k.plugins.RunFilterPlugins(k.ctx, state, pod, info).IsSuccess() {
			found = append(found, info)
		}
	}
	return found, nil
}

// best returns those of the nodes that accept a pod that have the highest score, or none if no node
// accepts it.
func (k *kubeScheduler) best(pod *v1.Pod, bound []*v1.Pod, extender *answer.Answerer) ([]string, error) {
	state := framework.NewCycleState()
	feasible, err := k.feasible(state, pod, bound)
	if err != nil {
		return nil, err
	}
	pod = pod.DeepCopy()
	pod.Spec.NodeName = ""
	if extender != nil {
		feasible = kept(extender, pod, feasible)
	}
	if len(feasible) < 2 {
		return nodeNames(feasible), nil
	}
	if status := k.plugins.RunPreScorePlugins(k.ctx, state, pod, feasible); !status.IsSuccess() {
		return nil, status.AsError()
	}
	scores, status := k.plugins.RunScorePlugins(k.ctx, state, pod, feasible)
	if !status.IsSuccess() {
		return nil, status.AsError()
	}
	highest := slices.MaxFunc(scores, func(a, b fwk.NodePluginScores) int { return cmp.Compare(a.TotalScore, b.TotalScore) }).TotalScore
	var best []string
	for i := range scores {
		if scores[i].TotalScore == highest {
			best = append(best, scores[i].Name)
		}
	}
	return best, nil
}

func nodeNames(infos []fwk.NodeInfo) (all []string) {
	for _, info := range infos {
		all = append(all, info.Node().Name)
	}
	return all
}

// kept returns the nodes that the extender keeps for a pod, or all if it rejects all.
func kept(answerer *answer.Answerer, pod *v1.Pod, infos []fwk.NodeInfo) []fwk.NodeInfo {
	round := answerer.Begin()
	nodes, rejects := make([]cluster.NodeIndex, len(infos)), make([]extender.Reject, len(infos))
	for i, info := range infos {
		nodes[i] = round.Node([]byte(info.Node().Name))
	}
	round.Filter(answer.Describe(pod), nodes, rejects)
	var left []fwk.NodeInfo
	for i, reject := range rejects {
		if reject == extender.RejectNone {
			left = append(left, infos[i])
		}
	}
	if len(left) == 0 {
		return infos
	}
	return left
}
