package admission

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/apifault"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/scenario"
)

// replica is one of two processes, with its own connection to the API server.
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

// leading waits until one of the replicas leads, and returns it.
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

// burning is a cluster in which six of sixteen nodes are hot. Five pods must leave each hot node,
// so that there are more moves than kills even if the surviving replica is faster than the killed
// one.
func burning(t *testing.T) (f *stage.Fixture, o ours, story *scenario.Story, policy string) {
	t.Helper()
	f, o = unasked(t, "admission-steering")
	nodes, err := f.AddNodes(t.Context(), 16, cluster.NodeTemplate{CPU: "32", Memory: "256Gi", OwnAddresses: true})
	if err != nil {
		t.Fatal(err)
	}
	hot, others := nodes[:6], nodes[6:]
	err = f.Place(t.Context(),
		cluster.Placement{Workload: stage.Workload("bg", wide, light), On: stage.On(1, others...)},
		cluster.Placement{Workload: stage.Workload("hog", small, heavy), On: stage.On(perHotNode, hot...)})
	if err != nil {
		t.Fatal(err)
	}
	story = &scenario.Story{Nodes: nodes, Hot: hot, EvictLinePercent: 65, FewestEvictions: fewestPerNode * len(hot)}
	return f, o, story, remembered(f, 2*time.Second, nodes...)
}

// If one of two replicas is killed, at any step of a move, the other releases pods: none waits for
// longer than two seconds. The other then leads, and nothing of the killed one remains.
//
//e2e:tier all
func TestKilledBesideAnother(t *testing.T) { killBeside(t, proving, evicting, nominating) }

//e2e:tier all
func TestKilledBesideAnotherWhileLettingGo(t *testing.T) { killBeside(t, letting, clearing) }

// killBeside kills the leading replica, several times at each step.
func killBeside(t *testing.T, steps ...step) {
	t.Helper()
	f, o, story, policy := burning(t)
	d, mark := follow(t, f), f.Mark()
	f.Pause(true)
	var replicas []*replica
	for range 2 {
		r := &replica{listen: f.FreeAddress()}
		r.through, r.proxy = f.APIProxy()
		r.start(policy)
		replicas = append(replicas, r)
	}
	for _, at := range slices.Repeat(steps, kills) {
		leader := leading(f, replicas)
		caught := at.catch(leader.proxy, nil)
		f.Pause(false)
		caught(f)
		f.Pause(true)
		leader.Kill()
		leader.proxy.Apply()
		stillSteers(f, o, d, at)
		letGoInTime(t, d)
		leader.start(policy)
	}
	f.Pause(false)
	cooled(t, f, o, story)
	letGoInTime(t, d)
	waits := d.waits()
	t.Logf("figures: killed %d times; %d pods held, %s; evictions %d, fewest %d", kills*len(steps), len(waits), spread(waits), f.Evictions(mark), story.FewestEvictions)
}

// stillSteers checks that keys left by a dead leader still hold pods. Before the eviction, it
// creates a real pod of the owner. After the eviction, it only tries a dry run, because a real pod
// would take the place of the replacement.
func stillSteers(f *stage.Fixture, o ours, d *diary, at step) {
	f.T.Helper()
	for owner := range openKeys(f.T.Context(), f, o) {
		held := false
		if at == proving || at == evicting {
			held = d.make(f, owner).held
		} else if got, err := f.Client().CoreV1().Pods("shop").Create(f.T.Context(), another(f, owner), dryRun); err == nil {
			held = got.Annotations["evenkeel.io/steered"] == "gate"
		}
		if !held {
			f.T.Errorf("%s %s: the key does not hold a pod", at.at.verb, at.at.resource)
		}
	}
}

// While another replica, which knows neither usage nor moves yet, restarts again and again, every
// replacement lands on its planned node.
//
//e2e:tier all
func TestReplicaStartsWhileMoving(t *testing.T) {
	f, o, story, policy := quick(t, "admission-steering")
	mark := f.Mark()
	leads, starts := &replica{through: f, listen: stage.Listen()}, &replica{through: f, listen: f.FreeAddress()} // judge queries the leading replica
	leads.start(policy)
	leading(f, []*replica{leads})
	times := 0
	for ; times < 30 && len(f.Hot(t.Context(), story.EvictLinePercent)) > 0; times++ {
		starts.start(policy)
		timer := time.NewTimer(3 * time.Second)
		<-timer.C
		starts.Kill()
	}
	cooled(t, f, o, story)
	judge(t, f, mark, story.Hot, story.FewestEvictions)
	if times < 3 {
		t.Errorf("the other replica started %d times while there was something to move", times)
	}
}

// letGoInTime checks that no pod has waited for longer than two seconds so far.
func letGoInTime(t *testing.T, d *diary) {
	t.Helper()
	const atMost = 2 * time.Second
	if waits := d.waits(); len(waits) == 0 || slices.Max(waits) > atMost {
		t.Errorf("pods were held for %v, want at most %v", waits, atMost)
	}
}
