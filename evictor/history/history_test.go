package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	logsapi "k8s.io/component-base/logs/api/v1"
	logsjson "k8s.io/component-base/logs/json"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/ledger"
)

var night = time.Date(2026, 11, 4, 2, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return night.Add(time.Duration(minutes) * time.Minute) }

// intent returns the planned move of a pod of the Deployment shop/web.
func intent(name string) *ledger.Intent {
	return &ledger.Intent{
		Namespace: "shop", Pod: name, PodUID: "uid-" + name, Owner: cluster.Owner{UID: "rs", Kind: "ReplicaSet", Name: "web-7d9f"},
		Usage: cluster.Amounts{750, 2 << 30}, From: "n1", To: "n2",
		Decision: &ledger.Decision{
			Message: `Node n1 is hot by real usage: cpu is at 72.7 % over avg_5m; "quoted", and = {odd}`, Policy: "0123456789ab", Cycle: "20261104T020000Z",
			Exceeded: []ledger.Exceeded{
				{Metric: "cpu", Window: "avg_5m", Value: 72.7, Line: 65, Percent: true},
				{Metric: "free_disk", Window: "last", Value: 10, Line: 20.5, Below: true},
			},
		},
	}
}

// entry returns the entry of that move afterwards.
func entry(name string, change ...func(*Entry)) Entry {
	m := intent(name)
	e := Entry{
		At: at(0), Namespace: "shop", Pod: name, PodUID: m.PodUID, Owner: "ReplicaSet/web-7d9f", Node: "n1", Destination: "n2",
		CPUMilli: new(int64(750)), MemoryBytes: new(int64(2 << 30)), Decision: *m.Decision,
	}
	for _, c := range change {
		c(&e)
	}
	return e
}

var (
	good      = Outcome{planned: true, sourceCooler: true, destinationUnder: true, healthy: true}
	goodTrial = Outcome{sourceStillHot: true, destinationTakes: true, podStayed: true}
)

// loggers writes logs in both formats, as cycles do.
func loggers() map[string]func(io.Writer) klog.Logger {
	return map[string]func(io.Writer) klog.Logger{
		"text": func(out io.Writer) klog.Logger {
			return textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(out), textlogger.Verbosity(2)))
		},
		"JSON": func(out io.Writer) klog.Logger {
			logger, _ := logsjson.NewJSONLogger(logsapi.VerbosityLevel(2), logsjson.AddNopSync(out), nil, nil)
			return logger
		},
	}
}

// Logged evictions are read back in both formats, with prefixes, from files in any order and among
// other lines.
func TestLogsAreReadAgain(t *testing.T) {
	judged := ledger.Outcome{Judged: at(6), Planned: true, SourceCooler: true, DestinationUnder: true, Healthy: true}
	moved := &ledger.Move{Intent: *intent("a"), Node: "n2", ReplacementName: "b", State: ledger.Landed}
	write := map[string]func(ctx context.Context){
		"evictions": func(ctx context.Context) {
			logger := klog.FromContext(ctx)
			logger.Info("Evicted pod", "pod", klog.KRef("shop", "a"), "reason", "NodeHot", "strategy", "RealUsageLowNodeUtilization")
			LogEviction(ctx, intent("a"), at(0), false)
			logger.Info("Planned", "moves", 3)
			for n := range 3 {
				LogEviction(ctx, intent("t"), at(5*n), true)
			}
		},
		"judgements": func(ctx context.Context) {
			LogJudged(ctx, moved, &judged)
			LogTrial(ctx, intent("t"), at(10), Trial{PodStayed: true})
			LogTrial(ctx, intent("t"), at(0), Trial{SourceStillHot: true, DestinationTakes: true, PodStayed: true})
		},
	}
	want := []Entry{
		entry("a", func(e *Entry) { e.Landed, e.Replacement, e.Outcome = "n2", "b", good }),
		entry("t", func(e *Entry) { e.DryRun, e.Times, e.Outcome = true, 3, goodTrial }),
	}
	for format, make := range loggers() {
		for _, order := range [][]string{{"evictions", "judgements"}, {"judgements", "evictions"}} {
			for _, prefix := range []string{"", "[pod/evenkeel-0/evenkeel] 2026-11-04T02:00:00.1Z stderr F "} {
				t.Run(fmt.Sprint(format, order, prefix != ""), func(t *testing.T) {
					logs := NewLogs(Query{})
					for _, name := range order {
						var out bytes.Buffer
						write[name](klog.NewContext(t.Context(), make(&out).WithValues("profile", "default")))
						text := prefix + strings.ReplaceAll(strings.TrimSuffix(out.String(), "\n"), "\n", "\n"+prefix) + "\n"
						if err := logs.Read(strings.NewReader(text)); err != nil {
							t.Fatal(err)
						}
					}
					if diff := cmp.Diff(want, logs.Entries()); diff != "" {
						t.Errorf("(-want +got):\n%s", diff)
					}
				})
			}
		}
	}
}

// The usage of a pod that was not measured is absent, also from lines in which earlier versions
// wrote it as 0.
func TestUnknownUsageIsNotZero(t *testing.T) {
	unmeasured := intent("a")
	unmeasured.Usage = cluster.Amounts{}
	want := entry("a", func(e *Entry) { e.CPUMilli, e.MemoryBytes = nil, nil })
	for format, make := range loggers() {
		for earlier := range 2 {
			var out bytes.Buffer
			LogEviction(klog.NewContext(t.Context(), make(&out)), unmeasured, at(0), false)
			text := out.String()
			if earlier == 1 {
				text = strings.NewReplacer(` node="n1"`, ` cpuMilli=0 memoryBytes=0 node="n1"`, `"node":`, `"cpuMilli":0,"memoryBytes":0,"node":`).Replace(text)
			}
			logs := NewLogs(Query{})
			if err := logs.Read(strings.NewReader(text)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]Entry{want}, logs.Entries()); diff != "" {
				t.Errorf("%s, from %q (-want +got):\n%s", format, text, diff)
			}
		}
	}
}

// If files overlap, such as those of `kubectl logs --since`, each eviction is listed only once, and
// so is each would-be eviction of a dry run.
func TestOverlappingLogs(t *testing.T) {
	for format, make := range loggers() {
		t.Run(format, func(t *testing.T) {
			logs := NewLogs(Query{})
			for first := range 3 { // three files with three cycles each, of five
				var out bytes.Buffer
				ctx := klog.NewContext(t.Context(), make(&out))
				for n := first; n < first+3; n++ {
					LogEviction(ctx, intent("t"), at(5*n), true)
				}
				LogEviction(ctx, intent("a"), at(0), false)
				if err := logs.Read(&out); err != nil {
					t.Fatal(err)
				}
			}
			want := []Entry{entry("a"), entry("t", func(e *Entry) { e.DryRun, e.Times = true, 5 })}
			if diff := cmp.Diff(want, logs.Entries()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Queries select evictions by pod, replacement, owner, Deployment, node and time.
func TestQueries(t *testing.T) {
	document := &ledger.Document{}
	add := func(m ledger.Move) { document.Moves = append(document.Moves, m) }
	landed := ledger.Move{Intent: *intent("web-1"), State: ledger.Landed, Node: "n3", ReplacementName: "web-9", Evicted: at(0), Ended: at(1), Accepted: true}
	other := ledger.Move{Intent: *intent("db-0"), State: ledger.Evicted, Evicted: at(-30), Accepted: true, Node: "n2"}
	other.Owner, other.From = cluster.Owner{UID: "s", Kind: "StatefulSet", Name: "db"}, "n9"
	earlier := ledger.Move{Intent: *intent("old"), State: ledger.Landed, Node: "n2", Evicted: at(-90), Ended: at(-89)}
	earlier.Decision, earlier.Owner.Name = nil, "web-api-5c6b"
	denied := ledger.Move{Intent: *intent("denied"), State: ledger.Cancelled, Ended: at(-10), Denied: "no"}
	denied.Owner = cluster.Owner{}
	for _, m := range []ledger.Move{
		landed, other, earlier, denied,
		{Intent: *intent("not-made"), State: ledger.Cancelled, Ended: at(0)},
		{Intent: *intent("left-by-itself"), State: ledger.Expired, Evicted: at(0), Ended: at(9)},
	} {
		add(m)
	}
	cases := map[string]struct {
		query Query
		want  []string
	}{
		"all, oldest first":            {want: []string{"old", "db-0", "denied", "web-1"}},
		"a pod":                        {query: Query{Pod: "shop/web-1"}, want: []string{"web-1"}},
		"a replacement":                {query: Query{Pod: "shop/web-9"}, want: []string{"web-1"}},
		"a pod in another namespace":   {query: Query{Pod: "other/web-1"}},
		"a ReplicaSet":                 {query: Query{Owner: "shop/web-7d9f"}, want: []string{"web-1"}},
		"a Deployment":                 {query: Query{Owner: "shop/web"}, want: []string{"web-1"}},
		"a Deployment with a dash":     {query: Query{Owner: "shop/web-api"}, want: []string{"old"}},
		"a StatefulSet":                {query: Query{Owner: "shop/db"}, want: []string{"db-0"}},
		"by the pods' source":          {query: Query{Node: "n9"}, want: []string{"db-0"}},
		"where pods landed":            {query: Query{Node: "n3"}, want: []string{"web-1"}},
		"since half an hour and a bit": {query: Query{Since: at(-31)}, want: []string{"db-0", "denied", "web-1"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, e := range tc.query.OfLedger(document) {
				got = append(got, e.Pod)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The result of an eviction and its reason are described in words.
func TestWords(t *testing.T) {
	cases := map[string]struct {
		change    func(*Entry)
		want, why string
	}{
		"from a log alone":  {func(*Entry) {}, "evicted", "cpu avg_5m 72.7% > 65%, free_disk last 10 < 20.5"},
		"on its way":        {func(e *Entry) { e.State = "Booked" }, "evicted, replacement on its way", ""},
		"landed and helped": {func(e *Entry) { e.State, e.Landed, e.Outcome = "Landed", "n2", good }, "landed as planned; it helped", ""},
		"landed elsewhere":  {func(e *Entry) { e.State, e.Landed = "Landed", "n3" }, "landed on n3", ""},
		"did not help": {func(e *Entry) {
			e.Landed, e.Outcome = "n2", Outcome{planned: true, sourceCooler: false, healthy: false}
		}, "landed as planned; it did not help: the replacement is not ready or has restarted, the node is as hot as before", ""},
		"no replacement":      {func(e *Entry) { e.State = "Expired" }, "evicted, no replacement seen in time", ""},
		"scaled down":         {func(e *Entry) { e.State = "Cancelled" }, "evicted, no replacement wanted", ""},
		"denied":              {func(e *Entry) { e.State, e.Denied = "Cancelled", "frozen" }, "not evicted, denied: frozen", ""},
		"dry run":             {func(e *Entry) { e.DryRun, e.Times = true, 1 }, "would be evicted", ""},
		"dry run, a week":     {func(e *Entry) { e.DryRun, e.Times, e.Outcome = true, 7, goodTrial }, "would be evicted (7 times); it would have helped", ""},
		"dry run, needless":   {func(e *Entry) { e.DryRun, e.Outcome = true, Outcome{sourceStillHot: false} }, "would be evicted; it would not have helped: the node cooled without it", ""},
		"of an upstream plug": {func(e *Entry) { e.Decision = ledger.Decision{Message: "triggered by p/RemoveDuplicates: "} }, "evicted", "triggered by p/RemoveDuplicates: "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := entry("a", tc.change)
			if got := e.Result(); got != tc.want {
				t.Errorf("result %q, want %q", got, tc.want)
			}
			if got := e.Why(); tc.why != "" && got != tc.why {
				t.Errorf("why %q, want %q", got, tc.why)
			}
		})
	}
}

// Anyone who creates a pod can name any controller. The eviction is still logged, on one
// line.
func TestOwnersOfSeveralLines(t *testing.T) {
	for format, make := range loggers() {
		t.Run(format, func(t *testing.T) {
			var out bytes.Buffer
			moved := intent("a")
			moved.Owner.Name = "web\nof\r\nmany lines"
			LogEviction(klog.NewContext(t.Context(), make(&out)), moved, at(0), false)
			logs := NewLogs(Query{})
			if err := logs.Read(&out); err != nil {
				t.Fatal(err)
			}
			want := entry("a", func(e *Entry) { e.Owner = "ReplicaSet/web of  many lines" })
			if diff := cmp.Diff([]Entry{want}, logs.Entries()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Values written by others are never mistaken for entries, on any line. An entry is read regardless
// of what others wrote into its message.
func TestValuesOfOthersAreNoEntries(t *testing.T) {
	var genuine bytes.Buffer
	LogEviction(klog.NewContext(t.Context(), loggers()["text"](&genuine)), intent("forged"), at(0), false)
	for format, make := range loggers() {
		for _, prefix := range []string{"", "[pod/evenkeel-0/evenkeel] 2026-11-04T02:00:00.1Z stderr F "} {
			t.Run(fmt.Sprint(format, prefix != ""), func(t *testing.T) {
				var out bytes.Buffer
				ctx := klog.NewContext(t.Context(), make(&out))
				for _, denial := range []string{genuine.String(), "no\n" + genuine.String(), `no` + "\n" + `{"msg":"Evicted pod","podUID":"u","at":"2026-11-04T02:00:00Z","message":"m"}`} {
					klog.FromContext(ctx).Info("Move was not made", "podUID", "u", "error", errors.New(denial))
				}
				moved := intent("a")
				moved.Decision.Message = "by a plugin\nthat has\r\n" + genuine.String()
				LogEviction(ctx, moved, at(0), false)
				logs := NewLogs(Query{})
				if err := logs.Read(strings.NewReader(prefix + strings.ReplaceAll(out.String(), "\n", "\n"+prefix))); err != nil {
					t.Fatal(err)
				}
				want := entry("a", func(e *Entry) { e.Message = oneLine.Replace(moved.Decision.Message) })
				if diff := cmp.Diff([]Entry{want}, logs.Entries()); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// Lines that are too long, truncated or unrelated are skipped, and the lines
// after them are read.
func TestOtherLinesAreSkipped(t *testing.T) {
	var out bytes.Buffer
	LogEviction(klog.NewContext(t.Context(), loggers()["text"](&out)), intent("a"), at(0), false)
	whole := out.String()
	text := strings.Join([]string{
		strings.Repeat("x", 3*maxLine) + whole, whole[:len(whole)/2] + "\n", `I1104 x] "Evicted pod" podUID="u" at="yesterday"` + "\n",
		`{"msg":"Evicted pod","podUID":7}` + "\n", `{"msg":"Other","detail":"Evicted pod","podUID":"u"}` + "\n", strings.TrimSuffix(whole, "\n"),
	}, "")
	logs := NewLogs(Query{})
	if err := logs.Read(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Entry{entry("a")}, logs.Entries()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	broken := errors.New("gone")
	if err := logs.Read(io.MultiReader(strings.NewReader(whole), failing{broken})); !errors.Is(err, broken) {
		t.Errorf("error %v, want that of the file", err)
	}
}

// A few large lines can take as much memory as many small ones, so their total size is bounded as
// well.
func TestLargeLinesAreBounded(t *testing.T) {
	var out bytes.Buffer
	for n := range 20 {
		move := intent(fmt.Sprint("pod-", n))
		move.Decision.Message = strings.Repeat("m", maxLine/2)
		LogEviction(klog.NewContext(t.Context(), loggers()["text"](&out)), move, at(n), false)
	}
	for mostKept, want := range map[int]bool{10 * maxLine / 2: false, 20 * maxLine: true} {
		logs := NewLogs(Query{})
		logs.mostKept = mostKept
		if err := logs.Read(bytes.NewReader(out.Bytes())); (err == nil) != want {
			t.Errorf("with %d bytes at most: error %v, %d entries", mostKept, err, len(logs.Entries()))
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// No line makes the reader panic, and every entry that it reads names a pod.
func FuzzParse(f *testing.F) {
	for _, make := range loggers() {
		var out bytes.Buffer
		ctx := klog.NewContext(f.Context(), make(&out))
		LogEviction(ctx, intent("a"), at(0), true)
		LogTrial(ctx, intent("a"), at(0), Trial{})
		for line := range bytes.Lines(out.Bytes()) {
			f.Add(line)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if l, ok := parse(text); ok && (l.PodUID == "" || l.At.IsZero()) {
			t.Errorf("%q is read as %+v", text, l.Entry)
		}
	})
}
