package history

import (
	"context"
	"strings"
	"time"

	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/ledger"
)

// The messages of the log lines. Later versions read them and their keys.
const (
	evicted     = "Evicted pod"
	wouldEvict  = "Would evict pod"
	moveJudged  = "Move judged"
	trialJudged = "Would-be move judged"
)

// LogEviction logs an eviction with everything on which the decision was based.
// The framework's own line about the same eviction has the same message, and no
// UID.
func LogEviction(ctx context.Context, move *ledger.Intent, at time.Time, dryRun bool) {
	message := evicted
	if dryRun {
		message = wouldEvict
	}
	e := ofIntent(move, at)
	values := []any{"pod", klog.KRef(e.Namespace, e.Pod), "node", e.Node, "destination", e.Destination}
	if e.CPUMilli != nil {
		values = append(values, "cpuMilli", *e.CPUMilli, "memoryBytes", *e.MemoryBytes)
	}
	klog.FromContext(ctx).Info(message, append(values,
		"at", stamp(at), "podUID", e.PodUID, "owner", oneLine.Replace(e.Owner), "workload", oneLine.Replace(e.Workload), "plugin", e.Plugin,
		"exceeded", e.Exceeded, "policy", e.Policy, "cycle", e.Cycle, "message", oneLine.Replace(e.Message))...)
}

// LogJudged logs the result of a move.
func LogJudged(ctx context.Context, move *ledger.Move, o *ledger.Outcome) {
	klog.FromContext(ctx).V(2).Info(moveJudged, "pod", klog.KRef(move.Namespace, move.Pod), "node", move.From,
		"destination", move.Node, "at", stamp(o.Judged), "podUID", move.PodUID, "replacement", move.ReplacementName,
		planned, o.Planned, sourceCooler, o.SourceCooler, destinationUnder, o.DestinationUnder, healthy, o.Healthy)
}

// Trial is what happened without a move that a dry run would have made.
type Trial struct{ SourceStillHot, DestinationTakes, PodStayed bool }

// LogTrial logs what happened without a move that a dry run would have made.
func LogTrial(ctx context.Context, move *ledger.Intent, at time.Time, t Trial) {
	klog.FromContext(ctx).Info(trialJudged, "pod", klog.KRef(move.Namespace, move.Pod), "node", move.From,
		"destination", move.To, "at", stamp(at), "podUID", move.PodUID,
		sourceStillHot, t.SourceStillHot, destinationTakes, t.DestinationTakes, podStayed, t.PodStayed)
}

// oneLine keeps a value on the line of its entry, because klog starts a new log
// line for each line of a text.
var oneLine = strings.NewReplacer("\n", " ", "\r", " ")

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }
