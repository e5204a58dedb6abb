package admission

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/apifault"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

// kills is how often Evenkeel is killed at each step of a move.
const kills = 5

// request is one kind of request that Evenkeel makes.
type request struct{ verb, namespace, resource string }

func (r request) rule(effect apifault.Effect, except []string) apifault.Rule {
	return apifault.Rule{
		Verbs: []string{r.verb}, Namespaces: []string{r.namespace}, Resources: []string{r.resource}, Except: except, Effect: effect,
	}
}

// step is a step of a move, defined by a request that a process cannot complete: the first request
// of kind at or, if after is set, the first one following a request of kind after.
type step struct{ after, at request }

var (
	proving    = step{after: request{"patch", "shop", "steerings"}, at: request{"create", probes, "pods"}}
	evicting   = step{at: request{"create", "shop", "pods/eviction"}}
	nominating = step{at: request{"patch", "shop", "pods/status"}}
	letting    = step{at: request{"patch", "shop", "pods"}}
	// A key is set before the eviction, and cleared as soon as the ledger knows the replacement,
	// which may still be held then.
	clearing = step{after: request{"create", "shop", "pods/eviction"}, at: request{"patch", "shop", "steerings"}}
)

// catch stops the next process behind the proxy at the step, ignoring requests for the pods in
// except. It returns a function that waits until the process is stopped.
func (s step) catch(p *apifault.Proxy, except []string) (caught func(f *stage.Fixture)) {
	silent, slow := p.Seen(apifault.Silent), p.Seen(apifault.Slow)
	at := s.at.rule(apifault.OfKind(apifault.Silent), except)
	if s.after == (request{}) {
		p.Apply(at)
	} else {
		p.Apply(s.after.rule(apifault.SlowBy(time.Second), except))
	}
	return func(f *stage.Fixture) {
		f.T.Helper()
		if s.after != (request{}) {
			f.Eventually(time.Minute, "a request to "+s.after.verb+" "+s.after.resource, func(context.Context) bool { return p.Seen(apifault.Slow) > slow })
			p.Apply(at)
		}
		f.Eventually(time.Minute, "a request to "+s.at.verb+" "+s.at.resource, func(context.Context) bool { return p.Seen(apifault.Silent) > silent })
	}
}

// openKeys returns when each key in the namespace shop expires.
func openKeys(ctx context.Context, f *stage.Fixture, o ours) map[string]time.Time {
	f.T.Helper()
	list, err := o.keys.Namespace("shop").List(ctx, metav1.ListOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	ends := map[string]time.Time{}
	for i := range list.Items {
		targets, _, _ := unstructured.NestedMap(list.Items[i].Object, "targets")
		for owner := range targets {
			text, _, _ := unstructured.NestedString(targets, owner, "until")
			until, err := time.Parse(time.RFC3339, text)
			if err != nil {
				f.T.Fatalf("the key of %s ends %q: %v", owner, text, err)
			}
			ends[owner] = until
		}
	}
	return ends
}

// another returns one more pod of the owner that has a key, as its controller would create it.
func another(f *stage.Fixture, owner string) *v1.Pod {
	f.T.Helper()
	for _, sibling := range f.PodsByUID(f.T.Context()) {
		if by := metav1.GetControllerOf(&sibling); by != nil && string(by.UID) == owner {
			one := pod(by.Kind, owner)
			one.OwnerReferences = sibling.OwnerReferences
			one.Annotations = map[string]string{cluster.UsageCPUAnnotation: "10m", cluster.UsageMemoryAnnotation: "16Mi"}
			return one
		}
	}
	f.T.Fatalf("no pod of %s", owner)
	return nil
}

// make creates another pod of the owner and waits until it is bound.
func (d *diary) make(f *stage.Fixture, owner string) (made life) {
	f.T.Helper()
	created, err := f.Client().CoreV1().Pods("shop").Create(f.T.Context(), another(f, owner), metav1.CreateOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	f.Eventually(10*time.Second, "a pod of an owner that has or had a key to be bound", func(context.Context) bool {
		made = d.lives()[string(created.UID)]
		return !made.bound.IsZero()
	})
	none := int64(0)
	if err := f.Client().CoreV1().Pods("shop").Delete(f.T.Context(), created.Name, metav1.DeleteOptions{GracePeriodSeconds: &none}); err != nil {
		f.T.Fatal(err)
	}
	return made
}

// dead checks what the only process leaves behind when it is killed at a step: its key steers until
// it expires, and no longer. A process that is nominating or releasing a pod may already have
// cleared the key.
func dead(f *stage.Fixture, o ours, d *diary, at step) {
	f.T.Helper()
	keys := openKeys(f.T.Context(), f, o)
	if n := len(keys); n > 1 || n == 0 && at != nominating && at != letting {
		f.T.Fatalf("keys %v, want that of the move", keys)
	}
	for owner, until := range keys {
		got, err := f.Client().CoreV1().Pods("shop").Create(f.T.Context(), another(f, owner), dryRun)
		if err != nil || got.Annotations["evenkeel.io/steered"] != "gate" {
			f.T.Errorf("before the key ends, at %v, a pod is steered %q, %v", until, got.Annotations["evenkeel.io/steered"], err)
		}
		timer := time.NewTimer(time.Until(until.Add(time.Second)))
		<-timer.C
		if made := d.make(f, owner); made.held {
			f.T.Errorf("a pod that came after the key had ended was held")
		}
	}
}

// tidied checks that the process that started at began has released every pod in held, and that no
// earlier key is left.
func tidied(f *stage.Fixture, o ours, began time.Time, held []string) {
	f.T.Helper()
	f.Eventually(10*time.Second, "the pods to be free that were held before the start", func(ctx context.Context) bool {
		return !slices.ContainsFunc(heldPods(ctx, f), func(name string) bool { return slices.Contains(held, name) })
	})
	for owner, until := range openKeys(f.T.Context(), f, o) {
		if until.Before(began) {
			f.T.Errorf("the key of %s that ended at %v is left", owner, until)
		}
	}
}

// kill kills the only process at the same step of several moves. Pods that arrive after its key has
// expired are not touched. Once the process is back, no key and no gate is left and no pod waits.
func kill(t *testing.T, at step) {
	f, o, story, policy := quick(t, "admission-steering")
	d, mark := follow(t, f), f.Mark()
	through, proxy := f.APIProxy()
	for range kills {
		held := heldPods(t.Context(), f)
		caught := at.catch(proxy, held)
		began := time.Now()
		process := through.Serve(policy)
		caught(f)
		tidied(f, o, began, held)
		process.Kill()
		proxy.Apply()
		dead(f, o, d, at)
	}
	through.Serve(policy)
	cooled(t, f, o, story)
	t.Logf("figures: killed %d times; evictions %d, fewest %d", kills, f.Evictions(mark), story.FewestEvictions)
}

//e2e:tier all
func TestKilledBeforeTheKeyIsProven(t *testing.T) { kill(t, proving) }

//e2e:tier all
func TestKilledBeforeTheEviction(t *testing.T) { kill(t, evicting) }

//e2e:tier all
func TestKilledWhileAPodIsHeld(t *testing.T) { kill(t, nominating) }

//e2e:tier all
func TestKilledWhileAPodIsNominated(t *testing.T) { kill(t, letting) }

//e2e:tier all
func TestKilledBeforeTheKeyIsCleared(t *testing.T) { kill(t, clearing) }

// A process without the permission to release a pod holds it too long, and its metrics report that.
// Once the permission is granted, the process releases the pod.
//
//e2e:tier all
func TestPodHeldTooLong(t *testing.T) {
	f, o, story, policy := quick(t, "admission-steering")
	through, proxy := f.APIProxy()
	proxy.Apply(letting.at.rule(apifault.WithStatus(http.StatusForbidden, 0), nil))
	metrics := f.FreeAddress()
	through.Serve(policy, "--metrics-address", metrics)
	f.Eventually(2*time.Minute, "a pod that is held too long", func(context.Context) bool {
		return f.Metric(metrics, "evenkeel_steering_overdue_pods") > 0
	})
	f.Firing("a pod is held", []string{"EvenkeelPodsHeldTooLong"}, metrics)
	proxy.Apply()
	cooled(t, f, o, story)
}

// taints counts the nodes with our taints.
func taints(ctx context.Context, f *stage.Fixture) (ours int) {
	f.T.Helper()
	nodes, err := f.Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		f.T.Fatal(err)
	}
	for i := range nodes.Items {
		for _, taint := range nodes.Items[i].Spec.Taints {
			if strings.HasPrefix(taint.Key, "evenkeel.io/") {
				ours++
			}
		}
	}
	return ours
}

// A killed process leaves its taints on hot nodes. If the nodes have cooled when it is back, it
// removes all of them.
//
//e2e:tier all
func TestKilledWithTaints(t *testing.T) {
	f := stage.New(t)
	f.Component("nodesync")
	skew := f.Skew()
	stay := strings.NewReplacer("eviction: {", "eviction: {schedulerNames: [nobody], ", "windows: [avg_5m]", "windows: [last]").Replace(stage.Fast)
	policy := f.Policy(stage.RealUsage, stay+"nodesync: {taint: {enabled: true}}\n")
	process := f.Serve(policy)
	f.Eventually(90*time.Second, "hot nodes to be tainted", func(ctx context.Context) bool { return taints(ctx, f) >= len(skew.Hot) })
	process.Kill()
	if _, err := scenario.Spike(t.Context(), f.Cluster, "shop", "hog", 0.2); err != nil {
		t.Fatal(err)
	}
	if taints(t.Context(), f) < len(skew.Hot) {
		t.Error("the taints are gone, although no process was running to remove them")
	}
	f.Serve(policy)
	f.Eventually(2*time.Minute, "no taint to be left", func(ctx context.Context) bool { return taints(ctx, f) == 0 })
}
