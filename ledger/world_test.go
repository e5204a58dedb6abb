package ledger

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
)

// world is a cluster of few owners, with the ledger of the evicting process and those of two
// followers. All of them see pods come and go in the same order. Each follower has its own
// kube-scheduler.
type world struct {
	t      *testing.T
	script []byte
	second int
	made   int
	pods   []*inhabitant
	// left counts the pods of each family that have started to leave, either evicted or on their
	// own.
	left       map[string]int
	leader     *books
	followers  [2]*books
	written    []Document
	announcing bool
	log        []string
}

// inhabitant is a pod of a world. It has no node until it is bound.
type inhabitant struct {
	Pod
	node string
	// untold reports whether the watch has not shown the pod yet. kube-scheduler may already ask
	// about it.
	untold bool
	// evicted reports whether the API server has accepted the pod's eviction, and leaving whether
	// the watch has shown that the pod is leaving.
	evicted, leaving bool
}

// family identifies the pods that may replace each other: those of one owner in one namespace,
// because pods in other namespaces may forge the owner.
func (p *Pod) family() string { return p.Namespace + "/" + p.OwnerUID }

var (
	worldOwners = []cluster.Owner{
		{UID: "rs-1", Kind: "ReplicaSet", Name: "web"}, {UID: "rs-2", Kind: "ReplicaSet", Name: "api"}, {UID: "sts-1", Kind: "StatefulSet", Name: "db"},
	}
	worldNodes = []string{"n1", "n2", "n3"}
)

func newWorld(t *testing.T, script []byte) *world {
	w := &world{t: t, script: script, left: map[string]int{}, second: 100}
	config := Config{SourceAvoidance: time.Minute, KeepEnded: 1000}
	w.leader, w.followers = newBooks(config), [2]*books{newBooks(config), newBooks(config)}
	w.announcing = w.next(2) == 0
	for i := range worldOwners {
		for range 3 {
			pod := w.create(i)
			pod.Created, pod.node = at(0), worldNodes[0]
		}
	}
	return w
}

// next reads a number below n from the script.
func (w *world) next(n int) int {
	if len(w.script) == 0 || n <= 0 {
		return 0
	}
	b := w.script[0]
	w.script = w.script[1:]
	return int(b) % n
}

// say logs what happens, as a help for investigating a failure.
func (w *world) say(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%4d: ", w.second)+fmt.Sprintf(format, args...))
}

func (w *world) now() time.Time { return at(w.second) }

func (w *world) all() []*books { return []*books{w.leader, w.followers[0], w.followers[1]} }

// create creates a pod. A StatefulSet's pod gets the first free name.
func (w *world) create(owner int) *inhabitant {
	o := worldOwners[owner]
	w.made++
	pod := &inhabitant{Pod: Pod{
		UID: fmt.Sprintf("pod-%d", w.made), Namespace: "ns", Name: fmt.Sprintf("%s-x%d", o.Name, w.made), OwnerUID: o.UID, OwnerKind: o.Kind,
		TemplateHash: "h1", Created: w.now(),
	}}
	for n := 0; o.Kind == "StatefulSet"; n++ {
		pod.Name = fmt.Sprintf("%s-%d", o.Name, n)
		if !slices.ContainsFunc(w.pods, func(p *inhabitant) bool { return p.Name == pod.Name && p.Namespace == pod.Namespace }) {
			break
		}
	}
	w.pods = append(w.pods, pod)
	return pod
}

// pick returns one of the wanted pods, chosen by the script; nil if there is none.
func (w *world) pick(wanted func(*inhabitant) bool) *inhabitant {
	var some []*inhabitant
	for _, pod := range w.pods {
		if wanted(pod) {
			some = append(some, pod)
		}
	}
	if len(some) == 0 {
		return nil
	}
	return some[w.next(len(some))]
}

func bound(p *inhabitant) bool   { return p.node != "" && !p.leaving }
func pending(p *inhabitant) bool { return p.node == "" }
func leaving(p *inhabitant) bool { return p.leaving }
func anyone(*inhabitant) bool    { return true }

// step plays one line of the script.
func (w *world) step() {
	switch w.next(18) {
	case 0:
		w.second += w.next(30)
		w.say("time passes")
	case 1:
		w.record()
	case 2:
		w.evict()
	case 3:
		w.leave(w.next(2) == 0)
	case 4:
		w.remove()
	case 5, 6:
		pod := w.create(w.next(len(worldOwners)))
		w.say("%s of %s comes", pod.UID, pod.OwnerUID)
		for _, l := range w.all() {
			l.Created(pod.Pod)
		}
	case 7, 8:
		w.ask()
	case 9, 10:
		w.bind()
	case 11:
		w.cancel()
	case 12:
		w.say("expire")
		for _, l := range w.all() {
			l.Expire(w.now())
		}
	case 13:
		w.publish()
	case 14:
		w.say("reconcile")
		for _, l := range w.all() {
			l.Reconcile(w.snapshot(), w.now())
		}
	case 15:
		pod := w.create(w.next(len(worldOwners)))
		pod.untold = true
		w.say("%s of %s comes, and the watch is late", pod.UID, pod.OwnerUID)
	case 16:
		if pod := w.pick(func(p *inhabitant) bool { return p.untold }); pod != nil {
			pod.untold = false
			w.say("the watch tells of %s", pod.UID)
			for _, l := range w.all() {
				l.Created(pod.Pod)
			}
		}
	case 17:
		pod := w.create(w.next(len(worldOwners)))
		if pod.Namespace = "other"; pod.OwnerKind == "StatefulSet" {
			pod.Name = "db-0"
		}
		w.say("%s comes, which forges its owner %s", pod.UID, pod.OwnerUID)
		for _, l := range w.all() {
			l.Created(pod.Pod)
		}
	}
}

// record records moves of up to three pods. In a world that announces moves, the processes that
// answer kube-scheduler know them at once, and no pod is so young that differences between clocks
// could matter.
func (w *world) record() {
	if w.announcing {
		w.second += 1 + int(clockSlack/time.Second)
	}
	var intents []Intent
	for range 1 + w.next(3) {
		pod := w.pick(func(p *inhabitant) bool { return bound(p) && !p.evicted })
		if pod == nil {
			continue
		}
		w.say("%s is to be moved", pod.UID)
		owner := worldOwners[slices.IndexFunc(worldOwners, func(o cluster.Owner) bool { return o.UID == pod.OwnerUID })]
		usage := cluster.Amounts{int64(w.next(3)) * 100, int64(w.next(3)) << 20}
		intents = append(intents, Intent{
			Namespace: pod.Namespace, Pod: pod.Name, PodUID: pod.UID, Owner: owner, TemplateHash: pod.TemplateHash, Usage: usage, From: pod.node,
			To: worldNodes[w.next(len(worldNodes))], Wait: 10 * time.Second, TTL: time.Minute,
		})
	}
	w.leader.Record(w.now(), intents...)
	if w.announcing {
		w.publish()
	}
}

// evict lets the API server accept an eviction, which the leader knows before
// the watch reports it.
func (w *world) evict() {
	if pod := w.pick(func(p *inhabitant) bool { return bound(p) && w.leader.Moving(p.UID) }); pod != nil {
		w.count(pod)
		w.say("%s is evicted", pod.UID)
		w.leader.Accepted(pod.UID, w.now())
	}
}

// leave makes the watch report that a pod leaves: one of those to be moved if moved is set,
// otherwise any pod.
func (w *world) leave(moved bool) {
	pod := w.pick(func(p *inhabitant) bool { return bound(p) && (!moved || w.leader.Moving(p.UID)) })
	if pod == nil {
		return
	}
	w.count(pod)
	pod.leaving = true
	w.say("%s leaves", pod.UID)
	for _, l := range w.all() {
		l.Leaves(pod.UID, w.now())
	}
}

// count counts a leaving pod, but only once.
func (w *world) count(pod *inhabitant) {
	if !pod.evicted {
		pod.evicted = true
		w.left[pod.family()]++
	}
}

func (w *world) remove() {
	pod := w.pick(func(p *inhabitant) bool { return leaving(p) || pending(p) && !p.untold })
	if pod == nil {
		return
	}
	w.say("%s is gone", pod.UID)
	w.pods = slices.DeleteFunc(w.pods, func(p *inhabitant) bool { return p == pod })
	for _, l := range w.all() {
		if pod.node == "" {
			l.Gone(pod.UID, w.now())
		} else {
			l.Leaves(pod.UID, w.now())
		}
	}
}

// ask makes kube-scheduler ask one follower about a pod, which may already be bound.
func (w *world) ask() {
	k := w.next(len(w.followers))
	follower := w.followers[k]
	pod := w.pick(anyone)
	if pod == nil {
		return
	}
	if pod.untold {
		before := follower.Export()
		follower.Guess(pod.Pod, w.now())
		if diff := cmp.Diff(before, follower.Export(), cmp.AllowUnexported(Move{})); diff != "" {
			w.t.Fatalf("a guess changed the ledger (-before +after):\n%s", diff)
		}
		return
	}
	move, ok := follower.Match(pod.Pod, w.now())
	switch {
	case !ok:
	case w.next(2) == 0:
		w.say("follower %d answers %s for %s", k, pod.UID, move.PodUID)
		follower.Answered(move.PodUID, cluster.Amounts{50, 50}, w.now())
	default:
		w.say("follower %d books %s for %s", k, pod.UID, move.PodUID)
		follower.Book(move.PodUID, pod.UID, worldNodes[w.next(len(worldNodes))], cluster.Amounts{50, 50}, w.now())
	}
}

func (w *world) bind() {
	pod := w.pick(pending)
	if pod == nil {
		return
	}
	pod.node, pod.untold = worldNodes[w.next(len(worldNodes))], false
	w.say("%s is bound", pod.UID)
	for _, l := range w.all() {
		l.Bound(pod.Pod, pod.node, w.now())
	}
}

// cancel ends moves, which only the leader does.
func (w *world) cancel() {
	switch w.next(3) {
	case 0:
		w.say("the cycle is over")
		w.leader.CancelIntended(w.now())
	case 1:
		owner, n := worldOwners[w.next(len(worldOwners))].UID, 1+w.next(2)
		w.say("%s shrinks by %d", owner, n)
		w.leader.CancelOwner("ns", owner, n, w.now())
	case 2:
		if pod := w.pick(bound); pod != nil {
			w.say("the eviction of %s is refused", pod.UID)
			w.leader.Cancel(pod.UID, w.now())
		}
	}
}

// publish lets the followers read the leader's current document or an earlier one.
func (w *world) publish() {
	document := w.leader.Export()
	if len(w.written) > 0 && !w.announcing && w.next(4) == 0 {
		k := w.next(len(w.written))
		w.say("followers read document %d", k)
		document = w.written[k]
	} else {
		w.say("followers read new document %d", len(w.written))
		w.written = append(w.written, document)
	}
	for _, f := range w.followers {
		f.Adopt(document, w.now())
	}
}

func (w *world) snapshot() *cluster.Snapshot {
	s := &cluster.Snapshot{}
	for _, name := range worldNodes {
		on := &cluster.NodePods{Node: cluster.Node{Name: name}}
		for _, p := range w.pods {
			if p.node == name {
				on.Pods = append(on.Pods, &cluster.Pod{
					UID: p.UID, Namespace: p.Namespace, Name: p.Name, Node: name, Created: p.Created, TemplateHash: p.TemplateHash, Terminating: p.leaving,
					Owner: cluster.Owner{UID: p.OwnerUID, Kind: p.OwnerKind},
				})
			}
		}
		s.Nodes = append(s.Nodes, on)
	}
	return s
}
