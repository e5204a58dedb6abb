package soak

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Pod is the part of a pod that the roster needs.
type Pod struct {
	UID, Name, Deployment string
	// Node is empty until the pod is bound.
	Node    string
	Created time.Time
	// Used is the pod's usage according to its annotations.
	Used Amounts
	// Leaving reports whether the pod is being deleted, Evicted whether that is because of
	// an eviction.
	Evicted, Leaving bool
}

// Change is a pod whose usage must be updated.
type Change struct {
	UID, Name string
	Used      Amounts
}

// Landing is a replacement that was bound.
type Landing struct {
	Pod  Pod
	Node string
	// Boomerang reports whether a pod of the same Deployment was evicted from the node
	// shortly before.
	Boomerang bool
	// NodeUsed is the usage of the node's other pods at that moment.
	NodeUsed Amounts
}

// Counts counts what has happened to the pods since Begin.
type Counts struct {
	Evictions int `json:"evictions"`
	// Deletions counts pods that were deleted without an eviction.
	Deletions  int `json:"deletions"`
	Landings   int `json:"landings"`
	Boomerangs int `json:"boomerangs"`
	// LandedHot counts landings on nodes whose true usage was above their evict line.
	LandedHot int `json:"landedHot"`
	// MostEvicted is the highest number of evictions of any replica.
	MostEvicted int `json:"mostEvictedReplica"`
}

// boomerangWithin equals eviction.sourceAvoidance in the shipped policy.
const boomerangWithin = 10 * time.Minute

// RosterConfig configures a Roster.
type RosterConfig struct {
	Fleet []Deployment
	Load  *Load
	// Hot reports whether a node with this usage is above its evict line.
	Hot func(Amounts) bool
}

// Roster tracks which pod represents which replica, and where it is. It is safe for
// concurrent use.
type Roster struct {
	config RosterConfig

	mu    sync.Mutex
	pods  map[string]*member
	crews map[string]*crew
	// began is when counting of landings and evictions began; zero before that.
	began   time.Time
	counts  Counts
	evicted []int // evictions by replica
}

// member is a pod on the roster.
type member struct {
	Pod
	// replica is the fleet-wide number of the replica.
	replica int
	// sent is the last usage that was patched. It appears in the pod's annotations a moment
	// later.
	sent    Amounts
	initial bool
	leaving bool
}

// crew is the state of one Deployment.
type crew struct {
	deployment Deployment
	// free holds the replicas without a pod, starting with the one that has been free
	// longest.
	free []int
	// left holds, by node, the time of the last eviction from it.
	left map[string]time.Time
	// extras holds pods beyond the Deployment's size, such as those that a rollout creates.
	// Until a replica is free, each of them uses as much as another pod.
	extras []*member
}

// NewRoster returns a roster without pods.
func NewRoster(config RosterConfig) *Roster {
	r := &Roster{config: config, pods: map[string]*member{}, crews: map[string]*crew{}, evicted: make([]int, sizeOf(config.Fleet))}
	for _, d := range config.Fleet {
		c := &crew{deployment: d, left: map[string]time.Time{}}
		for i := range d.Replicas {
			c.free = append(c.free, d.First+i)
		}
		r.crews[d.Name] = c
	}
	return r
}

// Begin starts counting evictions and landings.
func (r *Roster) Begin(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.began = now
	for _, m := range r.pods {
		m.initial = true
	}
}

// Saw processes the state of a pod as reported by the watch. It returns a Landing if a
// replacement was just bound, otherwise nil.
func (r *Roster) Saw(pod Pod, now time.Time) *Landing {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.crews[pod.Deployment]
	if c == nil {
		return nil
	}
	m := r.pods[pod.UID]
	if m == nil {
		m = &member{Pod: pod, sent: pod.Used, initial: r.began.IsZero()}
		m.Node = ""
		c.take(m)
		r.pods[pod.UID] = m
	}
	bound := m.Node == "" && pod.Node != "" && !pod.Leaving
	var landing *Landing
	if bound && !m.initial {
		landing = r.land(c, pod, now)
	}
	pod.Evicted = pod.Evicted || m.Evicted
	m.Pod = pod
	if pod.Leaving {
		r.leave(c, m, now)
	}
	return landing
}

// Gone removes a pod from the roster.
func (r *Roster) Gone(pod Pod, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, c := r.pods[pod.UID], r.crews[pod.Deployment]
	if m == nil || c == nil {
		return
	}
	m.Evicted = m.Evicted || pod.Evicted
	r.leave(c, m, now)
	delete(r.pods, pod.UID)
}

// leave frees the replica of a pod that is leaving, once.
func (r *Roster) leave(c *crew, m *member, now time.Time) {
	if m.leaving {
		return
	}
	m.leaving = true
	c.giveBack(m)
	if m.Evicted && m.Node != "" {
		c.left[m.Node] = now
	}
	switch {
	case r.began.IsZero():
	case m.Evicted:
		r.counts.Evictions++
		r.evicted[m.replica]++
		r.counts.MostEvicted = max(r.counts.MostEvicted, r.evicted[m.replica])
	default:
		r.counts.Deletions++
	}
}

func (r *Roster) land(c *crew, pod Pod, now time.Time) *Landing {
	landing := &Landing{Pod: pod, Node: pod.Node}
	for _, m := range r.pods {
		if m.Node == pod.Node && m.UID != pod.UID && !m.leaving {
			landing.NodeUsed = landing.NodeUsed.plus(m.Used)
		}
	}
	maps.DeleteFunc(c.left, func(_ string, at time.Time) bool { return now.Sub(at) > boomerangWithin })
	_, landing.Boomerang = c.left[pod.Node]
	r.counts.Landings++
	if landing.Boomerang {
		r.counts.Boomerangs++
	}
	if r.config.Hot(landing.NodeUsed) {
		r.counts.LandedHot++
	}
	return landing
}

// take assigns to a new pod the replica that has been free longest.
func (c *crew) take(m *member) {
	if len(c.free) == 0 {
		m.replica = c.deployment.First + len(c.extras)%c.deployment.Replicas
		c.extras = append(c.extras, m)
		return
	}
	m.replica, c.free = c.free[0], c.free[1:]
}

// giveBack frees a pod's replica. It is assigned to a pod that waits for one, or to the
// next one that comes.
func (c *crew) giveBack(m *member) {
	if i := slices.Index(c.extras, m); i >= 0 {
		c.extras = slices.Delete(c.extras, i, i+1)
		return
	}
	if len(c.extras) == 0 {
		c.free = append(c.free, m.replica)
		return
	}
	c.extras[0].replica = m.replica
	c.extras = slices.Delete(c.extras, 0, 1)
}

// Due returns the pods whose usage has changed, sorted by name, and records their new
// usage as sent.
func (r *Roster) Due(elapsed time.Duration) []Change {
	r.mu.Lock()
	defer r.mu.Unlock()
	var due []Change
	for uid, m := range r.pods {
		if m.leaving {
			continue
		}
		if now := r.config.Load.At(m.replica, elapsed); Changed(m.sent, now) {
			m.sent = now
			due = append(due, Change{UID: uid, Name: m.Name, Used: now})
		}
	}
	slices.SortFunc(due, func(a, b Change) int { return strings.Compare(a.Name, b.Name) })
	return due
}

// Untold undoes the record that a pod's usage was sent, so that the pod is due again.
func (r *Roster) Untold(uid string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.pods[uid]; m != nil {
		m.sent = m.Used
	}
}

// Usage returns the total usage of the pods on each node; nodes without pods are missing.
func (r *Roster) Usage() map[string]Amounts {
	r.mu.Lock()
	defer r.mu.Unlock()
	usage := map[string]Amounts{}
	for _, m := range r.pods {
		if m.Node != "" && !m.leaving {
			usage[m.Node] = usage[m.Node].plus(m.Used)
		}
	}
	return usage
}

// Pending returns the sorted names of unbound pods that are older than the given
// duration.
func (r *Roster) Pending(longerThan time.Duration, now time.Time) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, m := range r.pods {
		if m.Node == "" && !m.leaving && now.Sub(m.Created) > longerThan {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	return names
}

// Counts returns the counts so far.
func (r *Roster) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts
}
