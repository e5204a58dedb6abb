package admission

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster/apifault"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// replica is one of two processes, with a way to the API server of its own.
type replica struct {
	*evenkeel.Process
	through *stage.Fixture
	proxy   *apifault.Proxy
	listen  string
}

func (r *replica) start(policy string) {
	r.through.T.Helper()
	r.Process = r.through.Start("serve", "--policy-config-file", policy, "--descheduling-interval", "1s",
		"--listen-address", r.listen, "--metrics-address", "0",
		"--leader-elect=true", "--leader-elect-lease-duration", "5s", "--leader-elect-renew-deadline", "4s", "--leader-elect-retry-period", "1s")
	if err := r.WaitServing(r.through.T.Context(), "http://"+r.listen+"/livez"); err != nil {
		r.through.T.Fatal(err)
	}
}

// leading waits until one of them leads, and returns it.
func leading(f *stage.Fixture, replicas []*replica) (leader *replica) {
	f.T.Helper()
	f.Eventually(30*time.Second, "a leader", func(context.Context) bool {
		i := slices.IndexFunc(replicas, func(r *replica) bool { return !r.Ended() && stage.Leads(r.Process) })
		if i >= 0 {
			leader = replicas[i]
		}
		return leader != nil
	})
	return leader
}

// With one of two replicas killed, at whichever step of a move, the other lets
// pods go: none waits for longer than two seconds. It then leads, and leaves
// nothing.
func TestKilledBesideAnother(t *testing.T) {
	const atMost = 2 * time.Second
	f, o, story, policy := quick(t, "admission-steering")
	d, mark := follow(t, f), f.Mark()
	f.Pause(true)
	var replicas []*replica
	for range 2 {
		r := &replica{listen: f.FreeAddress()}
		r.through, r.proxy = f.APIProxy()
		r.start(policy)
		replicas = append(replicas, r)
	}
	for _, at := range []step{proving, evicting, nominating, letting, clearing} {
		leader := leading(f, replicas)
		caught := at.catch(leader.proxy, nil)
		f.Pause(false)
		caught(f)
		f.Pause(true)
		leader.Kill()
		leader.proxy.Apply()
		for owner := range openKeys(t.Context(), f, o) {
			if made := d.make(f, owner); !made.held {
				t.Errorf("%s %s: the key does not hold a pod", at.at.verb, at.at.resource)
			}
		}
		if waits := d.waits(); len(waits) == 0 || slices.Max(waits) > atMost {
			t.Errorf("%s %s: pods were held for %v, want at most %v", at.at.verb, at.at.resource, waits, atMost)
		}
		leader.start(policy)
	}
	f.Pause(false)
	cooled(t, f, o, story)
	waits := d.waits()
	if slices.Max(waits) > atMost {
		t.Errorf("in the end pods had been held for %v, want at most %v", waits, atMost)
	}
	t.Logf("figures: %d pods held, %s; evictions %d, fewest %d", len(waits), spread(waits), f.Evictions(mark), story.FewestEvictions)
}
