package ledger

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// presumption is what a pod is going to use on the node that kube-scheduler is likely to choose for it. It is this process's
// alone: kube-scheduler places a hundred pods before the watch tells of the first.
type presumption struct {
	node    string
	amounts cluster.Amounts
	at      time.Time
}

const (
	// presumeFor is how long a pod that is not seen bound is reckoned with where it was likely to go.
	presumeFor = 10 * time.Second
	// maxPresumed bounds the pods that are reckoned with.
	maxPresumed = 10_000
)

// Presume reserves a pod's usage on the node it is likely to be bound to, until it is bound, gone or asked about again. A pod
// that takes up a move has its reservation already.
func (l *Ledger) Presume(podUID, node string, amounts cluster.Amounts, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(podUID)
	if podUID == "" || len(l.presumed) >= maxPresumed {
		return
	}
	l.presumed[podUID] = presumption{node, amounts, now}
	l.reserves(node, amounts)
}

// Unpresume ends the reservation of a pod that is asked about again: it counts once.
func (l *Ledger) Unpresume(podUID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.forget(podUID)
}

// forget ends a presumption.
func (l *Ledger) forget(podUID string) {
	if p, ok := l.presumed[podUID]; ok {
		delete(l.presumed, podUID)
		l.reserves(p.node, cluster.Amounts{}.Minus(p.amounts))
	}
}

func (l *Ledger) forgetOld(now time.Time) {
	for uid, p := range l.presumed {
		if age := now.Sub(p.at); age > presumeFor || age < 0 {
			l.forget(uid)
		}
	}
}

func (l *Ledger) reserves(node string, by cluster.Amounts) {
	if l.config.OnReserve != nil {
		l.config.OnReserve(node, by)
	}
}
