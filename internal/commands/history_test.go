package commands

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor/history"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/ledger/configmap"
)

// lastNight is the time of the evictions in these tests.
var lastNight = time.Date(2026, 11, 4, 2, 0, 0, 0, time.UTC)

// evictedWeb returns the move of a pod of shop/web.
func evictedWeb(name string, after time.Duration) ledger.Move {
	return ledger.Move{
		Intent: ledger.Intent{
			Namespace: "shop", Pod: name, PodUID: "uid-" + name, Owner: cluster.Owner{UID: "rs", Kind: "ReplicaSet", Name: "web-7d9f"},
			Usage: cluster.Amounts{750, 2 << 30}, From: "n1", To: "n2",
			Decision: &ledger.Decision{
				Message: "Node n1 is hot by real usage.", Policy: "0123456789ab", Cycle: "20261104T020000Z",
				Exceeded: []ledger.Exceeded{{Metric: "cpu", Window: "avg_5m", Value: 72.7, Line: 65, Percent: true}},
			},
		},
		State: ledger.Landed, Node: "n2", Replacement: "new-" + name, ReplacementName: name + "-new", Accepted: true,
		Recorded: lastNight.Add(after), Evicted: lastNight.Add(after), Ended: lastNight.Add(after + time.Minute),
		Outcome: &ledger.Outcome{Judged: lastNight.Add(after + 6*time.Minute), Planned: true, SourceCooler: true, DestinationUnder: true, Healthy: true},
	}
}

// storing returns the flags for an API server that stores the ledger. The time is half past two
// that night.
func storing(t *testing.T, moves ...ledger.Move) flags.Options {
	t.Helper()
	packed, err := ledger.Document{Generation: 1, Writer: "w", Written: lastNight, Moves: moves}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return apiOf(t, map[string]any{
		"/version": map[string]string{"major": "1"},
		"/api/v1/namespaces/evenkeel/configmaps/evenkeel-ledger": &v1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Name: "evenkeel-ledger", Namespace: "evenkeel"},
			BinaryData: map[string][]byte{configmap.Key: packed},
		},
	})
}

func apiOf(t *testing.T, answers map[string]any) flags.Options {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("%s %s", r.Method, r.URL)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Date", lastNight.Add(30*time.Minute).Format(http.TimeFormat))
		answer := answers[r.URL.Path]
		if answer == nil {
			w.WriteHeader(http.StatusNotFound)
			answer = metav1.Status{Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound}
		}
		_ = json.NewEncoder(w).Encode(answer)
	}))
	t.Cleanup(server.Close)
	return flags.Options{Namespace: "evenkeel", REST: &rest.Config{Host: server.URL}}
}

func historyOf(t *testing.T, options flags.Options, wanted HistoryOptions) string {
	t.Helper()
	var out bytes.Buffer
	if wanted.Format == "" {
		wanted.Format = "table"
	}
	if err := History(t.Context(), options, wanted, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// The ledger shows which pod was evicted when, from which node to which, why, and with what result.
// Text from others cannot control the terminal.
func TestHistoryOfTheLedger(t *testing.T) {
	denied := evictedWeb("web-c", 20*time.Minute)
	denied.State, denied.Evicted, denied.Accepted, denied.Outcome, denied.Node = ledger.Cancelled, time.Time{}, false, nil, ""
	denied.Denied = "frozen\x1b[2J\nuntil monday"
	failed := evictedWeb("web-b", 10*time.Minute)
	failed.Node, failed.Outcome = "n3", &ledger.Outcome{Judged: lastNight, DestinationUnder: true, Healthy: true}
	options := storing(t, evictedWeb("web-a", 0), failed, denied)
	want := `TIME                  POD         OWNER                FROM  TO  RESULT                                                       WHY
2026-11-04T02:00:00Z  shop/web-a  ReplicaSet/web-7d9f  n1    n2  landed as planned; it helped                                 cpu avg_5m 72.7% > 65%
2026-11-04T02:10:00Z  shop/web-b  ReplicaSet/web-7d9f  n1    n3  landed on n3; it did not help: the node is as hot as before  cpu avg_5m 72.7% > 65%
2026-11-04T02:21:00Z  shop/web-c  ReplicaSet/web-7d9f  n1    n2  not evicted, denied: frozen [2J until monday                 cpu avg_5m 72.7% > 65%
3 evictions: 1 helped, 1 not, 1 not judged.
The ledger reaches back to 2026-11-04T02:00:00Z; earlier evictions are in the logs (--from-logs).
`
	if diff := cmp.Diff(want, historyOf(t, options, HistoryOptions{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wide := historyOf(t, options, HistoryOptions{Format: "wide", Pod: "shop/web-a-new", Since: time.Hour})
	if !strings.Contains(wide, "750m/2048Mi  0123456789ab  20261104T020000Z  Node n1 is hot by real usage.\n1 eviction") {
		t.Errorf("wide:\n%s", wide)
	}
	var report struct{ Evictions []map[string]any }
	if err := json.Unmarshal([]byte(historyOf(t, options, HistoryOptions{Format: "json", Owner: "shop/web", Since: 25 * time.Minute})), &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Evictions) != 2 || report.Evictions[0]["pod"] != "web-b" || report.Evictions[0]["message"] == "" || report.Evictions[0]["result"] == "" {
		t.Errorf("since 25 minutes, as JSON: %+v", report.Evictions)
	}
	if got := historyOf(t, options, HistoryOptions{Node: "n9"}); !strings.HasPrefix(got, "No evictions found.\n") {
		t.Errorf("of a node without: %q", got)
	}
}

// Evictions are counted by owner, with their outcomes.
func TestHistoryByOwner(t *testing.T) {
	failed := evictedWeb("web-b", 10*time.Minute)
	failed.Outcome = &ledger.Outcome{Judged: lastNight, DestinationUnder: true, Healthy: true}
	decision := *failed.Decision
	decision.Plugin = "RemoveDuplicates"
	failed.Decision = &decision
	other := evictedWeb("db-0", 15*time.Minute)
	other.Owner, other.Outcome = cluster.Owner{UID: "db", Kind: "StatefulSet", Name: "db\x1b[2J"}, nil
	options := storing(t, evictedWeb("web-a", 0), failed, other)
	want := `OWNER                     EVICTIONS  HELPED  DID NOT HELP  NOT JUDGED  LAST                  PLUGINS
shop/ReplicaSet/web-7d9f          2       1             1           0  2026-11-04T02:10:00Z  RemoveDuplicates
shop/StatefulSet/db [2J           1       0             0           1  2026-11-04T02:15:00Z  -
The ledger reaches back to 2026-11-04T02:00:00Z; earlier evictions are in the logs (--from-logs).
`
	if diff := cmp.Diff(want, historyOf(t, options, HistoryOptions{By: ByOwner})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if wide := historyOf(t, options, HistoryOptions{By: ByOwner, Format: "wide"}); !strings.Contains(wide, "DENIED\n") {
		t.Errorf("wide:\n%s", wide)
	}
	var report struct{ Owners []map[string]any }
	if err := json.Unmarshal([]byte(historyOf(t, options, HistoryOptions{By: ByOwner, Format: "json", Owner: "shop/web"})), &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Owners) != 1 || report.Owners[0]["evictions"] != 2.0 || report.Owners[0]["helped"] != 1.0 || report.Owners[0]["notHelped"] != 1.0 {
		t.Errorf("as JSON: %+v", report.Owners)
	}
	if got := historyOf(t, options, HistoryOptions{By: ByOwner, Node: "n9"}); !strings.HasPrefix(got, "No evictions found.\n") {
		t.Errorf("of a node without: %q", got)
	}
}

// An unreadable ledger is an error. A missing one counts as a ledger without moves.
func TestHistoryWithoutALedger(t *testing.T) {
	none := apiOf(t, map[string]any{"/version": map[string]string{"major": "1"}})
	if got := historyOf(t, none, HistoryOptions{}); !strings.HasPrefix(got, "No evictions found.\nNamespace evenkeel has no ledger.") {
		t.Errorf("without a ledger: %q", got)
	}
	damaged := apiOf(t, map[string]any{
		"/version": map[string]string{"major": "1"},
		"/api/v1/namespaces/evenkeel/configmaps/evenkeel-ledger": &v1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, BinaryData: map[string][]byte{configmap.Key: []byte("x")},
		},
	})
	if err := History(t.Context(), damaged, HistoryOptions{Format: "table"}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "unpacking the ledger") {
		t.Errorf("error %v, want what is wrong with the ledger", err)
	}
}

// History from logs needs no cluster, reads several files and standard input, and counts the trial
// of a dry run.
func TestHistoryOfLogs(t *testing.T) {
	var log bytes.Buffer
	ctx := klog.NewContext(t.Context(), textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(&log))))
	move := evictedWeb("web-a", 0)
	for n := range 4 {
		history.LogEviction(ctx, &move.Intent, lastNight.Add(time.Duration(n)*time.Minute), true)
	}
	file := filepath.Join(t.TempDir(), "a.log")
	if err := os.WriteFile(file, log.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	log.Reset()
	history.LogTrial(ctx, &move.Intent, lastNight, history.Trial{SourceStillHot: true, DestinationTakes: true, PodStayed: true})
	got := historyOf(t, flags.Options{}, HistoryOptions{Logs: []string{file}, More: []string{"-"}, In: &log})
	want := `TIME                  POD         OWNER                FROM  TO  RESULT                                            WHY
2026-11-04T02:00:00Z  shop/web-a  ReplicaSet/web-7d9f  n1    n2  would be evicted (4 times); it would have helped  cpu avg_5m 72.7% > 65%
1 eviction of a dry run: 1 would have helped, 0 not, 0 not judged.
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Mistakes on the command line are usage errors.
func TestHistoryRefuses(t *testing.T) {
	cases := map[string]struct {
		wanted HistoryOptions
		want   string
	}{
		"a pod without a namespace": {HistoryOptions{Pod: "web-a"}, `--pod: "web-a" is not NAMESPACE/NAME`},
		"an owner with a kind":      {HistoryOptions{Owner: "shop/deployment/web"}, "--owner"},
		"the future":                {HistoryOptions{Since: -time.Hour}, "--since: -1h0m0s is negative"},
		"another format":            {HistoryOptions{Format: "csv"}, `"csv" is not one of ` + HistoryFormats},
		"another group":             {HistoryOptions{By: "node"}, `--by: "node" is not owner`},
		"files without --from-logs": {HistoryOptions{More: []string{"a.log"}}, "only with --from-logs"},
		"a missing file":            {HistoryOptions{Logs: []string{"/nowhere/a.log"}}, "--from-logs: open /nowhere/a.log"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.wanted.Format == "" {
				tc.wanted.Format = "table"
			}
			err := History(t.Context(), flags.Options{}, tc.wanted, &bytes.Buffer{})
			if err == nil || !strings.Contains(err.Error(), tc.want) || exit.Code(err) != 2 {
				t.Errorf("error %v, exit code %d", err, exit.Code(err))
			}
		})
	}
}
