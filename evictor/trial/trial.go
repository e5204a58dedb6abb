// Package trial judges the moves that a dry run would have made. It keeps them in memory,
// because the stored ledger holds only real moves. It logs the results, which `evenkeel
// history --from-logs` reads.
package trial

import (
	"context"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor/history"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/thresholds"
)

const (
	// maxPending bounds the number of moves that await judgement. Moves beyond it
	// are logged but never judged.
	maxPending = 2000
	// maxWait is how long a judgement that is due waits for measurements.
	maxWait = time.Hour
)

// Pods finds pods by their names.
type Pods interface {
	// Pod returns the pod in the watch; nil if it is gone.
	Pod(namespace, name string) *v1.Pod
}

// Trial holds the moves that await judgement. The zero value is ready for use. It is safe
// for concurrent use.
type Trial struct {
	mu      sync.Mutex
	pending []pending // oldest first
}

type pending struct {
	ledger.Intent
	at time.Time
}

// Add records that a planned move would have been made. A pod that already
// awaits judgement is not added again.
func (t *Trial) Add(intent *ledger.Intent, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	waits := slices.ContainsFunc(t.pending, func(p pending) bool { return p.PodUID == intent.PodUID })
	if intent.To != "" && !waits && len(t.pending) < maxPending {
		t.pending = append(t.pending, pending{*intent, now})
	}
}

// Judge logs the results of the moves that would have been made until the given time. A
// move was worth its eviction if its source is still hot without it, its destination
// would still take the pod, and the pod still exists. Moves wait while their nodes are
// not measured. Moves off a node that no longer exists also wait, because it is unknown
// whether the node would have cooled.
func (t *Trial) Judge(ctx context.Context, latest *observer.Observation, pods Pods, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pending = slices.DeleteFunc(t.pending, func(p pending) bool {
		if p.at.After(until) {
			return false
		}
		outcome, known := judge(latest, pods, &p.Intent)
		if known {
			history.LogTrial(ctx, &p.Intent, p.at, outcome)
		}
		return known || p.at.Before(until.Add(-maxWait))
	})
}

func judge(latest *observer.Observation, pods Pods, move *ledger.Intent) (outcome history.Trial, known bool) {
	snapshot := latest.View.Snapshot
	from, to := snapshot.Index(move.From), snapshot.Index(move.To)
	if from < 0 {
		return outcome, false
	}
	for _, i := range []int{from, to} {
		if i >= 0 && !latest.View.Nodes[i].Known() {
			return outcome, false
		}
	}
	pod := pods.Pod(move.Namespace, move.Pod)
	return history.Trial{
		SourceStillHot:   latest.States[move.From].State == thresholds.Hot,
		DestinationTakes: to >= 0 && latest.Board.LandsUpTo(cluster.NodeIndex(to), move.Usage, move.CeilingMilliCores),
		PodStayed:        pod != nil && string(pod.UID) == move.PodUID && pod.DeletionTimestamp == nil,
	}, true
}
