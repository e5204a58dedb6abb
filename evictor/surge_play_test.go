package evictor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// surgePlay is a play whose pods are the only ones of Deployments. Each
// Deployment makes what it wants: a replacement is bound and ready a while
// after it was scaled up, and gone once it is scaled back before its
// predecessor is.
type surgePlay struct {
	*play
	mu sync.Mutex
	// calls is what was asked for, with the second.
	calls []string
	// wants and version are those of the Deployments by name; the Deployment of
	// pod a is web-a.
	wants   map[string]int32
	version int
	// setAnswers and readAnswers are what the next calls are answered instead;
	// nil answers as it is.
	setAnswers, readAnswers []error
	// setTakes is how long a call to scale takes, carriesOut whether one that
	// is answered with an error is carried out.
	setTakes   time.Duration
	carriesOut bool
	// before is called before each call to scale.
	before func(deployment string, to int32)
	alive  map[string]*v1.Pod
	reads  int // how often a scale was asked for
	most   int // the most Deployments that wanted two pods at a time
}

// surging runs a test in a bubble.
func surging(t *testing.T, test func(*testing.T, *surgePlay)) {
	t.Helper()
	playing(t, func(t *testing.T, p *play) {
		s := &surgePlay{play: p, wants: map[string]int32{}, alive: map[string]*v1.Pod{}}
		p.config.scaler = s
		p.config.deadline = 10 * time.Minute
		p.config.replicas = func(*v1.Pod) int { return 1 }
		p.config.pod, p.config.others = s.pod, s.all
		p.config.lost = true
		p.config.announce = func(ctx context.Context) { Sleep(ctx, 500*time.Millisecond) }
		p.readyIn = 3 * time.Second
		p.evict = s.evictOne
		test(t, s)
	})
}

var _ Scaler = (*surgePlay)(nil)

func (p *surgePlay) Forbidden() bool { return false }

var deployments = schema.GroupResource{Group: "apps", Resource: "deployments"}

func (p *surgePlay) Scale(ctx context.Context, namespace, deployment string) (Scale, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reads++
	if err := ctx.Err(); err != nil {
		return Scale{}, err
	}
	if err := next(&p.readAnswers); err != nil {
		return Scale{}, err
	}
	if p.wants[deployment] == 0 {
		return Scale{}, apierrors.NewNotFound(deployments, namespace+"/"+deployment)
	}
	return Scale{Replicas: p.wants[deployment], Version: strconv.Itoa(p.version)}, nil
}

func (p *surgePlay) SetScale(ctx context.Context, _, deployment string, to Scale) error {
	time.Sleep(p.setTakes)
	if p.before != nil {
		p.before(deployment, to.Replicas)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	err := next(&p.setAnswers)
	if err == nil && to.Version != strconv.Itoa(p.version) {
		err = apierrors.NewConflict(deployments, deployment, errors.New("it has changed"))
	}
	if err != nil {
		p.say(fmt.Sprintf("!%s to %d", deployment, to.Replicas))
		if !p.carriesOut {
			return err
		}
	} else {
		p.say(fmt.Sprintf("%s to %d", deployment, to.Replicas))
	}
	p.scaled(deployment, to.Replicas)
	return err
}

// next takes the next answer off a script.
func next(script *[]error) (answer error) {
	if len(*script) > 0 {
		answer, *script = (*script)[0], (*script)[1:]
	}
	return answer
}

func (p *surgePlay) say(what string) {
	p.calls = append(p.calls, fmt.Sprintf("%s@%.1f", what, time.Since(p.start).Seconds()))
}

// rescale is somebody else's doing.
func (p *surgePlay) rescale(deployment string, replicas int32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.scaled(deployment, replicas)
}

func (p *surgePlay) scaled(deployment string, replicas int32) {
	before := p.wants[deployment]
	p.version++
	p.wants[deployment] = replicas
	pod := deployment[len("web-"):]
	switch {
	case before < replicas && replicas == 2:
		p.replace(pod)
	case replicas == 1 && p.alive[pod] != nil:
		delete(p.alive, "new-"+pod) // the newest
	}
	twice := 0
	for _, wants := range p.wants {
		if wants == 2 {
			twice++
		}
	}
	p.most = max(p.most, twice)
}

// replace makes the second pod of a Deployment.
func (p *surgePlay) replace(name string) {
	if p.landsIn < 0 {
		return
	}
	p.after(p.landsIn, func() {
		pod := aPod("new-"+name, func(pod *v1.Pod) { pod.Spec.NodeName = "cool" })
		p.mu.Lock()
		if p.wants["web-"+name] < 2 {
			p.mu.Unlock()
			return
		}
		p.alive[pod.Name] = pod
		p.mu.Unlock()
		p.unready.Store(string(pod.UID), true)
		record := ledger.Pod{UID: string(pod.UID), Namespace: "ns", Name: pod.Name, OwnerUID: "rs-" + name, OwnerKind: "ReplicaSet", TemplateHash: "h1"}
		p.ledger.Created(record)
		if !p.notAsked {
			p.ledger.Match(record, time.Now())
		}
		p.ledger.Bound(record, "cool", time.Now())
		if p.readyIn >= 0 {
			p.after(p.readyIn, func() { p.unready.Delete(record.UID) })
		}
	})
}

func (p *surgePlay) pod(_, name string) *v1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.alive[name]
}

func (p *surgePlay) all() []*v1.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Values(p.alive))
}

// evictOne answers an eviction as scripted.
func (p *surgePlay) evictOne(pod *v1.Pod, move *Move) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	answers := p.answers[pod.Name]
	answer := next(&answers)
	if p.answers[pod.Name] = answers; answer != nil {
		p.say("!evict " + pod.Name)
		return answer
	}
	if !p.config.dryRun && !p.ledger.Moving(move.PodUID) {
		return &reasons.Refusal{Reason: reasons.MoveCancelled, Detail: ""}
	}
	p.ledger.Accepted(move.PodUID, time.Now())
	p.say("evict " + pod.Name)
	delete(p.alive, pod.Name)
	p.ledger.Leaves(move.PodUID, time.Now())
	return nil
}

// surgeOf is the planned move of the only pod of a Deployment.
func surgeOf(name string) Move {
	move := moveOf(name)
	move.Surge, move.Margin = "web-"+name, move.TTL
	move.Owner = cluster.Owner{UID: "rs-" + name, Kind: "ReplicaSet", Name: "web-" + name + "-h1"}
	return move
}

// run makes the moves and returns what became of them, in the order in which it
// was decided.
func (p *surgePlay) run(ctx context.Context, names ...string) []string {
	p.t.Helper()
	executor := p.evictor()
	var moves []Move
	p.mu.Lock()
	for _, name := range names {
		moves = append(moves, surgeOf(name))
		p.alive[name] = aPod(name)
		if p.wants["web-"+name] == 0 {
			p.wants["web-"+name] = 1
		}
	}
	p.mu.Unlock()
	var got []string
	for _, outcome := range executor.begin(ctx, moves, nil).run(ctx) {
		if outcome.Reason == "" {
			got = append(got, outcome.Move.Pod)
			continue
		}
		got = append(got, fmt.Sprintf("%s: %s", outcome.Move.Pod, outcome.Reason))
	}
	return got
}

// settled fails the test if a Deployment wants two pods or is said to, though
// nobody else has scaled it.
func (p *surgePlay) settled(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, wants := range p.wants {
		if wants == 2 {
			t.Errorf("Deployment %s still wants %d pods", name, wants)
		}
	}
	if open := p.ledger.Surges(); len(open) > 0 {
		t.Errorf("surges left open: %+v", open)
	}
	if inFlight, _ := p.ledger.Moves(); len(inFlight) > 0 {
		t.Errorf("moves left in flight: %+v", inFlight)
	}
}
