package soak

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Pod is what the roster has to know of a pod of the fleet.
type Pod struct {
	UID, Name, Deployment string
	// Node is empty until the pod is bound.
	Node    string
	Created time.Time
	// Used is what it uses by its annotations.
	Used Amounts
	// Evicted says that it goes because of an eviction, Leaving that it is
	// being deleted.
	Evicted, Leaving bool
}

// Change is a pod that has to be told what it uses now.
type Change struct {
	UID, Name string
	Used      Amounts
}

// Landing is a replacement that was bound.
type Landing struct {
	Pod  Pod
	Node string
	// Boomerang says that the node is one that a pod of the Deployment was
	// evicted from shortly before.
	Boomerang bool
	// NodeUsed is what the node's other pods used at that moment.
	NodeUsed Amounts
}

// Counts are what happened to the pods since Begin.
type Counts struct {
	Evictions int `json:"evictions"`
	// Deletions are pods that went without having been evicted.
	Deletions  int `json:"deletions"`
	Landings   int `json:"landings"`
	Boomerangs int `json:"boomerangs"`
	// LandedHot counts the landings on nodes above their evict line by true
	// usage.
	LandedHot int `json:"landedHot"`
	// MostEvicted is how often the replica was evicted that was evicted most.
	MostEvicted int `json:"mostEvictedReplica"`
}

// boomerangWithin is the shipped policy's eviction.sourceAvoidance.
const boomerangWithin = 10 * time.Minute

// RosterConfig says what a roster holds.
type RosterConfig struct {
	Fleet []Deployment
	Load  *Load
	// Hot reports whether a node that uses so much is above its evict line.
	Hot func(Amounts) bool
}

// Roster knows which pod plays which replica and where it is. It is safe for
// concurrent use.
type Roster struct {
	config RosterConfig

	mu    sync.Mutex
	pods  map[string]*member
	crews map[string]*crew
	// began is when landings and evictions began to count; zero before.
	began   time.Time
	counts  Counts
	evicted []int // evictions by replica
}

// member is a pod on the roster.
type member struct {
	Pod
	// replica is the number in the fleet.
	replica int
	// told is what it was last told to use, which its annotations say a moment
	// later.
	told    Amounts
	initial bool
	leaving bool
}

// crew is what is known of one Deployment.
type crew struct {
	deployment Deployment
	// free are replicas that nobody plays, the one that was left first in
	// front.
	free []int
	// left is when a node was last left by an eviction.
	left map[string]time.Time
	// extras are pods beyond the Deployment's size, as a surge brings them:
	// each plays along with another pod until a replica is free.
	extras []*member
}

// NewRoster returns a roster on which no replica is played.
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

// Begin makes evictions and landings count from now on.
func (r *Roster) Begin(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.began = now
	for _, m := range r.pods {
		m.initial = true
	}
}

// Saw takes in the state of a pod as the watch tells it. The landing is nil
// unless a replacement was bound just now.
func (r *Roster) Saw(pod Pod, now time.Time) *Landing {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.crews[pod.Deployment]
	if c == nil {
		return nil
	}
	m := r.pods[pod.UID]
	if m == nil {
		m = &member{Pod: pod, told: pod.Used, initial: r.began.IsZero()}
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

// Gone takes a pod off the roster.
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

// leave frees the replica of a pod that goes, once.
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

// take gives a new pod the replica that has been free longest.
func (c *crew) take(m *member) {
	if len(c.free) == 0 {
		m.replica = c.deployment.First + len(c.extras)%c.deployment.Replicas
		c.extras = append(c.extras, m)
		return
	}
	m.replica, c.free = c.free[0], c.free[1:]
}

// giveBack takes a pod's replica from it, for the pod that waits for one or for
// the next one that comes.
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

// Due lists, in order of names, the pods whose usage has changed, and takes
// them for told.
func (r *Roster) Due(elapsed time.Duration) []Change {
	r.mu.Lock()
	defer r.mu.Unlock()
	var due []Change
	for uid, m := range r.pods {
		if m.leaving {
			continue
		}
		if now := r.config.Load.At(m.replica, elapsed); Changed(m.told, now) {
			m.told = now
			due = append(due, Change{UID: uid, Name: m.Name, Used: now})
		}
	}
	slices.SortFunc(due, func(a, b Change) int { return strings.Compare(a.Name, b.Name) })
	return due
}

// Untold takes back that a pod was told what it uses; it will be due again.
func (r *Roster) Untold(uid string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.pods[uid]; m != nil {
		m.told = m.Used
	}
}

// Usage is what the pods of each node use; nodes without pods are missing.
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

// Pending lists, in order, the names of pods that were created longer ago than
// given and are bound nowhere.
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

// Counts returns what has happened so far.
func (r *Roster) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts
}
