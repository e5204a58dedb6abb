package soak

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReadVitals(t *testing.T) {
	page := "# HELP go_goroutines Number.\n# TYPE go_goroutines gauge\ngo_goroutines 123\n" +
		"go_memstats_heap_inuse_bytes 2.5e+07\nother{a=\"b c\"} 1\nprocess_resident_memory_bytes 1.5e+08\n"
	got, err := ReadVitals(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Vitals{RSSBytes: 150_000_000, HeapBytes: 25_000_000, Goroutines: 123}, got); diff != "" {
		t.Errorf("vitals (-want +got):\n%s", diff)
	}
	for name, spoilt := range map[string]string{
		"goroutines missing": strings.Replace(page, "go_goroutines 123", "", 1),
		"not a number":       strings.Replace(page, "123", "NaN", 1),
		"no text at all":     "",
	} {
		t.Run(name, func(t *testing.T) {
			if v, err := ReadVitals(spoilt); err == nil {
				t.Errorf("vitals %+v, want an error", v)
			}
		})
	}
}

func TestLogErrors(t *testing.T) {
	log := `I1121 18:00:00.000000    123 main.go:1] "Started"
E1121 18:00:01.000000    123 loop.go:2] "Reading usage failed" err="timeout: E1"
E1121 18:00:02.000000    123 loop.go:2] "Reading usage failed" err="refused"
W1121 18:00:03.000000    123 loop.go:3] "Slow"
E1121 18:00:04.000000    123 other.go:4] Unhandled: it broke
panic: runtime error
evenkeel: the Lease was lost`
	var errs LogErrors
	if err := errs.Read(strings.NewReader(log)); err != nil {
		t.Fatal(err)
	}
	want := []Message{{"Reading usage failed", 2}, {"Unhandled: it broke", 1}, {"evenkeel: the Lease was lost", 1}, {"panic: runtime error", 1}}
	if diff := cmp.Diff(want, errs.Most(9)); diff != "" || errs.Total() != 5 {
		t.Errorf("%d errors, want 5 (-want +got):\n%s", errs.Total(), diff)
	}
	if most := errs.Most(1); len(most) != 1 {
		t.Errorf("most frequent one: %v", most)
	}
}

func TestMoves(t *testing.T) {
	var m Moves
	for _, status := range []string{
		`{"moves":[{"namespace":"soak","pod":"a","from":"n1","to":"n2","node":"n2","state":"Booked"},{"namespace":"soak","pod":"b","from":"n1","to":"n3","state":"Intended"}]}`,
		`{"moves":[{"namespace":"soak","pod":"a","from":"n1","to":"n2","node":"n2","state":"Landed"},{"namespace":"soak","pod":"b","from":"n1","to":"n3","node":"n4","state":"Landed"}]}`,
		// Another replica is behind, and a third has forgotten everything.
		`{"moves":[{"namespace":"soak","pod":"a","from":"n1","to":"n2","state":"Evicted"},{"namespace":"soak","pod":"c","from":"n1","state":"Cancelled"}]}`,
		`{"moves":[{"namespace":"soak","pod":"d","from":"n9","state":"Expired"},{"namespace":"soak","pod":"e","from":"n9","node":"n8","state":"Landed"}]}`,
		`{"moves":[{"namespace":"soak","pod":"g","from":"n9","node":"n8","state":"Landed","replacement":"r"},{"namespace":"soak","pod":"h","from":"n9","node":"n8","state":"Landed","replacement":"r"}]}`,
		`{"moves":[{"namespace":"soak","pod":"f","from":"n9","state":"Evicted"}]}`,
		`{}`,
	} {
		if err := m.Read([]byte(status)); err != nil {
			t.Fatal(err)
		}
	}
	want := MoveCounts{All: 8, Landed: 5, OnPlan: 1, Expired: 1, Cancelled: 1, InFlight: 1, Doubled: 1}
	if diff := cmp.Diff(want, m.Counts()); diff != "" {
		t.Errorf("moves (-want +got):\n%s", diff)
	}
	if err := m.Read([]byte("<html>")); err == nil {
		t.Error("a page that is not a status is accepted")
	}
}

func TestLinesOf(t *testing.T) {
	policy := "kind: DeschedulerPolicy\n---\nkind: LoadPolicy\nlines:\n  cpu: {evict: 70}\n"
	got, err := LinesOf([]byte(policy))
	if want := (Lines{CPUPercent: 70, MemoryPercent: 80}); err != nil || got != want {
		t.Errorf("lines %+v, error %v; want %+v", got, err, want)
	}
	if _, err := LinesOf([]byte("a: [")); err == nil {
		t.Error("broken YAML is accepted")
	}
}

func TestReportJudges(t *testing.T) {
	growing := Process{Name: "evenkeel-1", Goroutines: Trend{SecondQuarter: 100, LastQuarter: 300, Verdict: Grew}}
	for name, tc := range map[string]struct {
		report Report
		want   []string
	}{
		"all well":                      {Report{Processes: []Process{{Name: "evenkeel-0", RSS: Trend{Verdict: Grew}}}}, nil},
		"a process died":                {Report{Processes: []Process{{Name: "evenkeel-0", Restarts: 2}}}, []string{"died 2 times"}},
		"goroutines leak":               {Report{Processes: []Process{growing}}, []string{"more and more goroutines"}},
		"alerts could fire and did not": {Report{Alerts: &Alerts{Watched: []string{"EvenkeelDown"}}}, nil},
		"alerts fired": {
			Report{Alerts: &Alerts{Watched: []string{"EvenkeelDown", "EvenkeelNotEvicting"}, Fired: []string{"EvenkeelDown", "EvenkeelNotEvicting"}}},
			[]string{"alerts fired: EvenkeelDown, EvenkeelNotEvicting"},
		},
		"pods found no node": {Report{Pending: []string{"app-1", "app-2"}}, []string{"2 pods stayed Pending, such as app-1, app-2"}},
		"memory grew under trouble, which is no failure otherwise": {
			Report{Trouble: &Trouble{}, Processes: []Process{{Name: "evenkeel-0", RSS: Trend{SecondQuarter: 100 << 20, LastQuarter: 300 << 20, Verdict: Grew}}}},
			[]string{"more and more memory resident: 100 MiB in the second quarter, 300"},
		},
		"moves were made twice": {
			Report{Trouble: &Trouble{EvictedTwice: []string{"soak/a"}}, Moves: MoveCounts{Doubled: 3}},
			[]string{"3 moves landed with a replacement", "evicted twice: soak/a"},
		},
		"everything at a time": {Report{Pending: []string{"x"}, Processes: []Process{growing}}, []string{"goroutines", "Pending"}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.report.Finish(time.Minute)
			if len(tc.report.Failures) != len(tc.want) {
				t.Fatalf("failures %q, want %q", tc.report.Failures, tc.want)
			}
			for i, want := range tc.want {
				if !strings.Contains(tc.report.Failures[i], want) {
					t.Errorf("failure %q, want %q in it", tc.report.Failures[i], want)
				}
			}
		})
	}
}

func TestReportIsWrittenBothWays(t *testing.T) {
	report := Report{
		Trace: "generated", Nodes: 2, Pods: 100, Minutes: 60, Counts: Counts{Evictions: 10, Landings: 10},
		Totals:    Totals{NodeMinutes: 120, HotNodeMinutes: 6},
		Processes: []Process{NewProcess("evenkeel-0", 0, []Vitals{{RSSBytes: 100 << 20, Goroutines: 50}}, &LogErrors{})},
		Timeline:  []Minute{{Minute: 1, Vitals: map[string]*Vitals{"evenkeel-0": nil}}},
		Alerts:    &Alerts{Watched: []string{"EvenkeelDown"}, TooLong: []string{"EvenkeelNotEvicting"}, Fired: []string{"EvenkeelDown"}},
	}
	report.Finish(time.Minute)
	// 10 evictions of 100 pods in an hour are 0.1 per pod and hour, or 2.4 per day. A minute of the
	// run is five minutes of the trace.
	if report.EvictionsPerPodDay < 2.39 || report.EvictionsPerPodDay > 2.41 || report.EvictionsPerPodTraceDay > 0.49 {
		t.Errorf("%v per pod and day, %v of the trace; want 2.4 and 0.48", report.EvictionsPerPodDay, report.EvictionsPerPodTraceDay)
	}
	var table, encoded bytes.Buffer
	if err := report.Table(&table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2.400 per pod and day", "6.0 of 120 (5.00 %)", "100 / 100 / 100 MiB (too short)",
		`1 of 2 could fire in this time, fired ["EvenkeelDown"]; too short for ["EvenkeelNotEvicting"]`} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, table.String())
		}
	}
	if err := report.JSON(&encoded); err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(encoded.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(report, back); diff != "" {
		t.Errorf("report after JSON (-want +got):\n%s", diff)
	}
	if line := report.Timeline[0].Line(); !strings.Contains(line, "1 min") || !strings.Contains(line, "0 goroutines") {
		t.Errorf("line of a minute: %q", line)
	}
}
