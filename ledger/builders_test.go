package ledger

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

const (
	wait = time.Minute
	ttl  = 5 * time.Minute
)

func at(second int) time.Time {
	return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(second) * time.Second)
}

// books is a Ledger, with reservations that are summed up from its reports.
type books struct {
	*Ledger
	sums map[string]cluster.Amounts
	ends []State
}

func newBooks(config Config) *books {
	b := &books{sums: map[string]cluster.Amounts{}}
	config.Listener = told{b}
	b.Ledger = New(config)
	return b
}

// told receives what a Ledger reports.
type told struct{ *books }

var _ Listener = told{}

func (t told) Reserved(node string, by cluster.Charge) {
	t.sums[node] = t.sums[node].Plus(by.Usage)
	if t.sums[node] == (cluster.Amounts{}) {
		delete(t.sums, node)
	}
}

func (t told) Ended(move Move) { t.ends = append(t.ends, move.State) }

// reserved returns the sums of the reservations that the Ledger claims to hold now.
func (b *books) reserved() map[string]cluster.Amounts {
	sums := map[string]cluster.Amounts{}
	b.Reserved(func(node string, by cluster.Charge) { sums[node] = sums[node].Plus(by.Usage) }, func() {})
	maps.DeleteFunc(sums, func(_ string, sum cluster.Amounts) bool { return sum == cluster.Amounts{} })
	return sums
}

var used = cluster.Amounts{cluster.CPU: 2200, cluster.Memory: 1 << 30}

// web returns the intent to move the pod web-<n> of the ReplicaSet rs-1 from the hot node to a cool
// one.
func web(n int, change ...func(*Intent)) Intent {
	i := Intent{
		Namespace: "ns", Pod: fmt.Sprintf("web-%d", n), PodUID: fmt.Sprintf("uid-%d", n),
		Owner: cluster.Owner{UID: "rs-1", Kind: "ReplicaSet", Name: "web"}, TemplateHash: "h1",
		Usage: used, From: "hot", To: "cool", Wait: wait, TTL: ttl,
	}
	for _, c := range change {
		c(&i)
	}
	return i
}

func statefulSet(i *Intent) { i.Owner = cluster.Owner{UID: "sts-1", Kind: "StatefulSet", Name: "db"} }

func to(node string) func(*Intent) { return func(i *Intent) { i.To = node } }

func unmeasured(i *Intent) { i.Usage = cluster.Amounts{} }

// webPod returns a new pod of the ReplicaSet.
func webPod(uid string, change ...func(*Pod)) Pod {
	p := Pod{UID: uid, Namespace: "ns", Name: "web-" + uid, OwnerUID: "rs-1", OwnerKind: "ReplicaSet", TemplateHash: "h1"}
	for _, c := range change {
		c(&p)
	}
	return p
}

// move records intents, and lets their pods leave in the same second.
func (b *books) move(second int, intents ...Intent) {
	b.Record(at(second), intents...)
	for i := range intents {
		b.Leaves(intents[i].PodUID, at(second))
	}
}

// book books the replacement of a move, as one attempt.
func (b *books) book(second int, podUID, node string, estimate cluster.Amounts) {
	move, _ := b.Get(podUID)
	b.Book(podUID, move.Replacement, node, estimate, at(second))
}

func mustMatch(t *testing.T, l *Ledger, pod Pod, second int) Move {
	t.Helper()
	move, ok := l.Match(pod, at(second))
	if !ok {
		t.Fatalf("no move is taken up by pod %s", pod.UID)
	}
	return move
}

func state(t *testing.T, l *Ledger, podUID string) State {
	t.Helper()
	move, ok := l.Get(podUID)
	if !ok {
		t.Fatalf("pod %s was never on the move", podUID)
	}
	return move.State
}
