package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// numbersOfAMove matches the explanation of a move, with all its figures.
var numbersOfAMove = regexp.MustCompile(`cpu (\d+\.\d to )?\d+\.\d% \(avg_5m.*\) is above the 65% evict line\. Pod uses \d+m cpu, .*\. Planned destination: \S+ \(cpu \d+\.\d% → \d+\.\d%\)\.`)

// told is an eviction reported by `evenkeel history`.
type told struct {
	PodUID, Pod, Node, Policy, Cycle, Message string
	DryRun                                    bool
	Exceeded                                  []struct {
		Metric, Window string
		Value, Line    float64
	}
}

// history runs `evenkeel history`.
func history(t *testing.T, args ...string) []told {
	t.Helper()
	out := stage.Run(t.Context(), t, t.TempDir(), append([]string{"history", "-o", "json"}, args...)...)
	var report struct{ Evictions []told }
	if err := json.Unmarshal([]byte(out.Stdout), &report); out.Code != 0 || err != nil {
		t.Fatalf("history %q: exit code %d, %v\n%s%s", args, out.Code, err, out.Stdout, out.Stderr)
	}
	return report.Evictions
}

// historyOfLog runs `evenkeel history` on a process's log.
func historyOfLog(t *testing.T, p *evenkeel.Process) []told {
	t.Helper()
	log := filepath.Join(t.TempDir(), "evenkeel.log")
	if err := os.WriteFile(log, []byte(p.Log()), 0o600); err != nil {
		t.Fatal(err)
	}
	return history(t, "--from-logs", log)
}

// checkHistory checks that history lists every evicted pod with the reason, both from the ledger
// and from the log of the process that evicted it.
func (f *fixture) checkHistory(serve *evenkeel.Process, before map[string]v1.Pod, evictions int) {
	f.T.Helper()
	for source, all := range map[string][]told{
		"ledger": history(f.T, "--kubeconfig", f.Access.Evenkeel, "--namespace", evenkeel.Namespace, "--since", "1h"),
		"log":    historyOfLog(f.T, serve),
	} {
		if len(all) != evictions {
			f.T.Errorf("by the %s there were %d evictions, want %d", source, len(all), evictions)
		}
		for _, e := range all {
			known := before[e.PodUID].Name == e.Pod && before[e.PodUID].Spec.NodeName == e.Node
			if !known || len(e.Exceeded) == 0 || e.Exceeded[0].Value <= e.Exceeded[0].Line || e.Policy == "" || e.Cycle == "" || !numbersOfAMove.MatchString(e.Message) {
				f.T.Errorf("by the %s (known before: %v): %+v", source, known, e)
			}
		}
	}
}

// historyOfDryRun counts, by workload, the pods that history reports as would-be evictions. Each
// must have a reason.
func historyOfDryRun(t *testing.T, p *evenkeel.Process) map[string]int {
	t.Helper()
	count := map[string]int{}
	for _, e := range historyOfLog(t, p) {
		if !e.DryRun || e.Message == "" || e.Cycle == "" {
			t.Errorf("history lists %+v", e)
		}
		workload, _, _ := strings.Cut(e.Pod, "-")
		count[workload]++
	}
	return count
}
