package evictor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	policylisters "k8s.io/client-go/listers/policy/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// play is a cluster for an Executor, in the time of a bubble: evictions succeed unless an answer is scripted, and
// replacements are bound on their destination and ready a while later.
type play struct {
	t        *testing.T
	start    time.Time
	ledger   *ledger.Ledger
	config   ExecutorConfig
	pods     map[string]*v1.Pod // by name
	budgets  cache.Indexer
	answers  map[string][]error // by pod: what the next evictions are answered; nil succeeds
	evicted  []string           // "pod@seconds"
	unready  sync.Map           // UIDs of replacements that are not ready
	landsIn  time.Duration      // negative for never
	landsOn  string             // "" for the destination
	readyIn  time.Duration
	notAsked bool // kube-scheduler does not ask about replacements
}

// playing runs a test in a bubble.
func playing(t *testing.T, test func(*testing.T, *play)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &play{
			t: t, start: time.Now(), ledger: ledger.New(ledger.Config{}), pods: map[string]*v1.Pod{}, answers: map[string][]error{},
			budgets: cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
			landsIn: 1900 * time.Millisecond, // between two looks
		}
		gate, err := NewGate(GateConfig{
			Client: &kubernetes.Clientset{}, Ledger: p.ledger, Now: time.Now, Timeout: time.Second,
			Paused: func(context.Context) error { return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		p.config = ExecutorConfig{
			Gate: gate, Budgets: Budgets{policylisters.NewPodDisruptionBudgetLister(p.budgets)},
			Pod:      func(_, name string) *v1.Pod { return p.pods[name] },
			Recheck:  func(*Move) reasons.Reason { return "" },
			Replicas: func(*v1.Pod) int { return 1000 },
			Ready: func(m *ledger.Move) bool {
				_, unready := p.unready.Load(m.Replacement)
				return !unready
			},
			Interval: 200 * time.Millisecond, Deadline: time.Minute, ProbeTimeout: 20 * time.Second, OwnerPercent: 10, Now: time.Now,
		}
		test(t, p)
	})
}

// steered makes the Executor probe and answers its question with these in turn, then with the last.
func (p *play) steered(answers ...Steered) {
	p.config.Steered = func(_ context.Context, move ledger.Move) Steered {
		if p.notAsked == move.Asked {
			p.t.Errorf("move of %q says asked=%v", move.Pod, move.Asked)
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

// after does something later. Every goroutine of a play ends before its bubble does.
func (p *play) after(d time.Duration, do func()) {
	go func() {
		time.Sleep(d)
		do()
	}()
}

// evict is the framework down to the API server.
func (p *play) evict(_ context.Context, pod *v1.Pod) error {
	a := p.config.Gate.take(pod.Namespace + "/" + pod.Name)
	if answers := p.answers[pod.Name]; len(answers) > 0 {
		p.answers[pod.Name] = answers[1:]
		if answers[0] != nil {
			p.note("!"+pod.Name, time.Now())
			if _, limit := limits(answers[0]); !limit {
				a.err = answers[0]
				return errors.New("flattened by the framework")
			}
			return answers[0] // the framework's own, before the Gate
		}
	}
	if !p.ledger.Moving(a.move.PodUID) {
		a.err = &Refusal{reasons.MoveCancelled, ""}
		return errors.New("flattened by the framework")
	}
	p.ledger.Leaves(a.move.PodUID, time.Now())
	a.made = true
	p.note(pod.Name, time.Now())
	delete(p.pods, pod.Name)
	p.land(pod.Name, a.move.To)
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
		pod := ledger.Pod{UID: "new-" + name, Namespace: "ns", Name: "new-" + name, OwnerUID: "rs-1", OwnerKind: "ReplicaSet", TemplateHash: "h1"}
		if !p.notAsked {
			p.ledger.Match(pod, time.Now())
		}
		p.unready.Store(pod.UID, true)
		p.ledger.Bound(pod, to, time.Now())
		p.after(p.readyIn, func() { p.unready.Delete(pod.UID) })
	})
}

// run makes the moves of pods and returns what became of them, in the order in which it was decided.
func (p *play) run(names ...string) []string {
	p.t.Helper()
	executor, err := NewExecutor(p.config)
	if err != nil {
		p.t.Fatal(err)
	}
	got := p.runWith(executor, names...)
	time.Sleep(10 * time.Minute) // everything that was started has ended by then
	return got
}

func (p *play) runWith(executor *Executor, names ...string) []string {
	var moves []Move
	for _, name := range names {
		moves = append(moves, moveOf(name))
		if p.pods[name] == nil {
			p.pods[name] = aPod(name)
		}
	}
	var got []string
	for _, outcome := range executor.Run(p.t.Context(), moves, p.evict) {
		if outcome.Reason == "" {
			got = append(got, outcome.Move.Pod)
			continue
		}
		got = append(got, fmt.Sprintf("%s: %s", outcome.Move.Pod, outcome.Reason))
	}
	return got
}

func tooMany(seconds int) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", seconds)
	return err
}
