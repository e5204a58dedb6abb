package commands

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/terminal"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/sim"
)

// recorded is a live cluster that a recorder observes, with its own clock. One of four nodes has 10
// pods, which use enough to make it hot.
type recorded struct {
	*recorder
	client   *fake.Clientset
	observer *observer.Observer
	clock    time.Time
	fail     error
	// at holds functions that are called once the clock has reached their time.
	at map[time.Duration]func()
}

const cores, podMilli = 8, 700

func newRecorded(t *testing.T, options RecordOptions) *recorded {
	t.Helper()
	begin := time.Date(2026, 5, 4, 8, 0, 0, 0, time.UTC)
	r := &recorded{client: fake.NewClientset(), clock: begin, at: map[time.Duration]func(){}}
	for i := range 4 {
		r.create(t, fmt.Sprintf("tellable-node-%d", i))
	}
	for i := range 10 {
		if _, err := r.client.CoreV1().Pods("tellable").Create(t.Context(), recordedPod(i, "tellable-node-0"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	load := policy.Default(kinds.All)
	p, err := sim.NewPolicy(&load)
	if err != nil {
		t.Fatal(err)
	}
	config := p.Observer
	config.Now, config.Sources = func() time.Time { return r.clock }, []observer.Source{r}
	if r.observer, err = observer.New(config); err != nil {
		t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(r.client, 0, informers.WithTransform(recordedSlim().Transform))
	synced, err := r.observer.Store().Attach(factory)
	if err != nil {
		t.Fatal(err)
	}
	r.recorder = &recorder{
		options: &options, latest: r.observer.Latest, synced: synced, now: config.Now, local: config.Now, out: io.Discard, told: terminal.NewProgress(nil, begin),
		arrived: func() int64 { return 0 }, fills: load.Usage.ObservationPeriod.Duration,
		nodes: factory.Core().V1().Nodes().Lister(), pods: factory.Core().V1().Pods().Lister(),
	}
	r.wait = func(ctx context.Context, d time.Duration) bool {
		r.clock = r.clock.Add(d)
		for after, do := range r.at {
			if r.clock.Sub(begin) >= after {
				delete(r.at, after)
				do()
			}
		}
		r.observer.Sample(ctx)
		return ctx.Err() == nil
	}
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	for !synced() {
		time.Sleep(time.Millisecond)
	}
	return r
}

func (r *recorded) create(t *testing.T, name string) {
	t.Helper()
	list := v1.ResourceList{
		v1.ResourceCPU: *resource.NewQuantity(cores, resource.DecimalSI), v1.ResourceMemory: resource.MustParse("32Gi"), v1.ResourcePods: resource.MustParse("110"),
	}
	node := &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{v1.LabelHostname: name}},
		Status: v1.NodeStatus{
			Allocatable: list, Capacity: list, Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}},
		},
	}
	if _, err := r.client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func recordedPod(i int, node string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "tellable", Name: fmt.Sprintf("tellable-pod-%d", i), UID: types.UID(fmt.Sprint("uid-", i)),
			CreationTimestamp: metav1.NewTime(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)),
			Labels:            map[string]string{"app": "tellable-app", "pod-template-hash": "tellable-hash"},
			OwnerReferences:   []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "tellable-set", UID: "s", Controller: new(true)}},
		},
		Spec: v1.PodSpec{NodeName: node, SchedulerName: v1.DefaultSchedulerName, Containers: []v1.Container{{Name: "c",
			Resources: v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("500m"), v1.ResourceMemory: resource.MustParse("1Gi")}},
		}}},
		Status: v1.PodStatus{Phase: v1.PodRunning, StartTime: &metav1.Time{Time: time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)}},
	}
}

// Name implements observer.Source.
func (r *recorded) Name() string { return "test" }

// Sample implements observer.Source. Every pod has the same usage, and each node uses a little more
// than its pods.
func (r *recorded) Sample(_ context.Context, snapshot *cluster.Snapshot) (usage.Batch, error) {
	if r.fail != nil {
		return usage.Batch{}, r.fail
	}
	batch := usage.Batch{Source: r.Name(), Received: r.clock}
	for _, node := range snapshot.Nodes {
		used := cluster.Amounts{100, 1 << 30}
		for _, pod := range node.Pods {
			sample := usage.Sample{At: r.clock, Used: cluster.Amounts{podMilli, 1 << 30}}
			used = used.Plus(sample.Used)
			batch.Pods = append(batch.Pods, usage.PodSample{Namespace: pod.Namespace, Name: pod.Name, Last: sample, Avg5m: sample})
		}
		readings := usage.LastReadings(r.clock, used)
		for _, reading := range usage.LastReadings(r.clock, used) {
			reading.Window = usage.Avg5m
			readings = append(readings, reading)
		}
		batch.Nodes = append(batch.Nodes, usage.NodeSample{Name: node.Node.Name, Readings: readings})
	}
	return batch, nil
}

// replayed replays a recording.
func replayed(t *testing.T, file string) (results map[string]sim.Result, notes string) {
	t.Helper()
	var told bytes.Buffer
	return simulated(t, func(o *SimulateOptions) {
		o.Recording, o.Compare, o.Notes, o.Run.WarmUp = file, []string{"none", "evenkeel", "oracle"}, &told, 2
	}), told.String()
}

// The recording of a cluster with one hot node replays as a cluster with one hot node, which
// Evenkeel cools.
func TestRecordAndReplay(t *testing.T) {
	for name, hash := range map[string]bool{"with names": false, "without names": true} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "day.evenkeel.gz")
			r := newRecorded(t, RecordOptions{Out: file, For: 2 * time.Hour, Interval: 5 * time.Minute, HashNames: hash})
			var said bytes.Buffer
			r.out = &said
			if err := r.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if want := "25 readings in 2h0m0s"; !strings.Contains(said.String(), want) {
				t.Errorf("said %q, want %q", said.String(), want)
			}
			if readable := strings.Contains(unpacked(t, file), "tellable"); readable == hash {
				t.Errorf("names can be read: %v", readable)
			}
			results, notes := replayed(t, file)
			none, evenkeel := results["none"], results["evenkeel"]
			if none.Nodes != 4 || none.Pods != 10 || none.HotPercent != 25 || notes != "" {
				t.Errorf("%d nodes, %d pods, %.1f %% hot, want one node of four; notes %q", none.Nodes, none.Pods, none.HotPercent, notes)
			}
			if evenkeel.HotPercent > none.HotPercent/2 || evenkeel.Evictions < 1 || evenkeel.Evictions > 4 {
				t.Errorf("Evenkeel leaves %.1f %% hot for %d evictions", evenkeel.HotPercent, evenkeel.Evictions)
			}
		})
	}
}

func unpacked(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Stopping ends a recording cleanly, and everything recorded until then is complete.
func TestRecordStopped(t *testing.T) {
	file := filepath.Join(t.TempDir(), "day.evenkeel.gz")
	r := newRecorded(t, RecordOptions{Out: file, Interval: time.Minute})
	ctx, stop := context.WithCancel(t.Context())
	r.at[10*time.Minute] = stop
	if err := r.run(ctx); err != nil {
		t.Fatal(err)
	}
	rec, err := openRecording(file)
	if err != nil || rec.Cut != "" || rec.Readings < 9 || rec.Readings > 10 {
		t.Errorf("%+v, %v", rec, err)
	}
}

// If recording is stopped before the first reading, no file is created, and the command fails.
func TestRecordStoppedBeforeItBegan(t *testing.T) {
	file := filepath.Join(t.TempDir(), "day.evenkeel.gz")
	r := newRecorded(t, RecordOptions{Out: file, Interval: time.Minute})
	ctx, stop := context.WithCancel(t.Context())
	r.latest, r.at[time.Second] = func() *observer.Observation { return nil }, stop
	if err := r.run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("there is a file")
	}
}

// Without history, usage counts 150 seconds after it was first read, as shipped. That is longer
// than lists may stall, so the first reading waits for usage.
func TestRecordWaitsForUsageToCount(t *testing.T) {
	file := filepath.Join(t.TempDir(), "day.evenkeel.gz")
	r := newRecorded(t, RecordOptions{Out: file, For: 10 * time.Minute, Interval: 5 * time.Minute})
	began, latest := r.clock, r.latest
	r.latest = func() *observer.Observation {
		seen := latest()
		if seen == nil || r.clock.Sub(began) >= 150*time.Second {
			return seen
		}
		filling := *seen
		filling.Fresh = 0
		return &filling
	}
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	rec, err := openRecording(file)
	if err != nil {
		t.Fatal(err)
	}
	if waited := rec.Header.Start.Sub(began); waited < 150*time.Second || waited > 3*time.Minute {
		t.Errorf("the first reading was taken after %v", waited)
	}
}

// Usage that cannot be measured for a while stays unknown. If the clock leaps, the numbers of the
// missed readings are skipped.
func TestRecordWithGaps(t *testing.T) {
	file := filepath.Join(t.TempDir(), "day.evenkeel.gz")
	r := newRecorded(t, RecordOptions{Out: file, For: 40 * time.Minute, Interval: 5 * time.Minute})
	r.at[7*time.Minute] = func() { r.fail = errors.New("away") }
	r.at[11*time.Minute] = func() { r.fail = nil }
	r.at[22*time.Minute] = func() { r.clock = r.clock.Add(9 * time.Minute) }
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var numbers []int
	for line := range strings.Lines(unpacked(t, file)) {
		var l struct {
			Reading *struct {
				Number int
				Nodes  []int64
			}
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Reading != nil {
			numbers = append(numbers, l.Reading.Number)
			if known := len(l.Reading.Nodes) > 0; known == (l.Reading.Number == 2) {
				t.Errorf("reading %d: usage is known: %v", l.Reading.Number, known)
			}
		}
	}
	if got := fmt.Sprint(numbers); got != "[0 1 2 3 4 6 7 8]" {
		t.Errorf("readings %s", got)
	}
}

// The API server's time determines when a recording began, but not how long it lasts.
func TestRecordWhileTheClockIsSet(t *testing.T) {
	for _, by := range []time.Duration{-time.Hour, time.Hour} {
		file := filepath.Join(t.TempDir(), "day.evenkeel.gz")
		r := newRecorded(t, RecordOptions{Out: file, For: 40 * time.Minute, Interval: 5 * time.Minute})
		off, began := -5*time.Minute, r.clock
		r.now = func() time.Time { return r.clock.Add(off) }
		r.at[12*time.Minute] = func() { off += by }
		if err := r.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		rec, err := openRecording(file)
		if err != nil || rec.Readings != 9 {
			t.Fatalf("set by %v: %+v, %v", by, rec, err)
		}
		if took := r.clock.Sub(began); took > 42*time.Minute {
			t.Errorf("set by %v: it took %v", by, took)
		}
		if early := began.Sub(rec.Header.Start); early < 4*time.Minute || early > 5*time.Minute {
			t.Errorf("set by %v: the recorded start is %v early", by, early)
		}
	}
}

// If no usage can be read, no file is created.
func TestRecordWithoutUsage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "day.evenkeel.gz")
	r := newRecorded(t, RecordOptions{Out: file, Interval: time.Minute})
	r.fail = errors.New("no metrics today")
	if err := r.run(t.Context()); err == nil || !strings.Contains(err.Error(), "no metrics today") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("there is a file")
	}
}

func TestRecordRefuses(t *testing.T) {
	there := filepath.Join(t.TempDir(), "there")
	writeText(t, there, "precious")
	if err := os.Chmod(there, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		options RecordOptions
		want    string
	}{
		"no file":                {RecordOptions{Interval: time.Minute}, "--out"},
		"a file that is there":   {RecordOptions{Out: there, Interval: time.Minute}, "--force"},
		"a folder that is none":  {RecordOptions{Out: filepath.Join(there, "of", "mine"), Interval: time.Minute}, "--out: stat " + filepath.Join(there, "of")},
		"an interval of nothing": {RecordOptions{Out: "x"}, "--interval 0s"},
		"an interval of an hour": {RecordOptions{Out: "x", Interval: time.Hour}, "--interval 1h"},
		"an odd interval":        {RecordOptions{Out: "x", Interval: 7 * time.Second}, "--interval 7s"},
		"less than an interval":  {RecordOptions{Out: "x", Interval: time.Minute, For: time.Second}, "--for 1s"},
		"a salt for nothing":     {RecordOptions{Out: "x", Interval: time.Minute, Salt: "s"}, "--salt"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Record(t.Context(), flags.Options{}, tc.options, io.Discard)
			if err == nil || !strings.Contains(err.Error(), tc.want) || exit.Code(err) != exit.Misuse {
				t.Errorf("got %v with exit code %d, want %q", err, exit.Code(err), tc.want)
			}
		})
	}
	// Another process may create the file between the check and the start.
	r := newRecorded(t, RecordOptions{Out: there, Interval: time.Minute, For: time.Minute})
	if err := r.run(t.Context()); exit.Code(err) != exit.Misuse {
		t.Errorf("recorded over another file: %v", err)
	}
	if content, err := os.ReadFile(there); string(content) != "precious" {
		t.Errorf("the file holds %q, %v", content, err)
	}
	r.options.Force = true
	if err := r.run(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := openRecording(there); err != nil {
		t.Error(err)
	}
	// A recording reveals everything that runs in the cluster, so its mode is restricted even if it
	// replaces an existing file.
	if info, err := os.Stat(there); err != nil || info.Mode() != 0o600 {
		t.Errorf("the recording: %v, %v", info.Mode(), err)
	}
}

func TestSimulateRefusesRecordings(t *testing.T) {
	dir := t.TempDir()
	broken, short := filepath.Join(dir, "broken.evenkeel.gz"), filepath.Join(dir, "short.evenkeel.gz")
	writeText(t, broken, "{\"header\":{\"version\":9}}\n")
	r := newRecorded(t, RecordOptions{Out: short, For: time.Minute, Interval: time.Minute})
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"one that is not there": {[]string{"--recording", filepath.Join(dir, "none")}, "none"},
		"another version":       {[]string{"--recording", broken}, "broken.evenkeel.gz: line 1: version 9"},
		"one that is too short": {[]string{"--recording", short}, "short.evenkeel.gz: 2 readings, 1m0s apart"},
		"one beside a trace":    {[]string{"--recording", short, "--trace", "day.csv"}, "--trace cannot be combined with --recording"},
		"one of other nodes":    {[]string{"--recording", short, "--nodes", "7"}, "--nodes cannot be combined with --recording"},
		"stretching nothing":    {[]string{"--stretch"}, "--stretch requires --recording"},
	} {
		t.Run(name, func(t *testing.T) {
			o := NewSimulateOptions()
			flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
			o.AddTo(flags)
			if err := flags.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			err := Simulate(t.Context(), o, io.Discard, nil)
			if err == nil || !strings.Contains(err.Error(), tc.want) || exit.Code(err) != exit.Misuse {
				t.Errorf("got %v with exit code %d, want %q", err, exit.Code(err), tc.want)
			}
		})
	}
}

// A truncated recording is replayed as far as it goes, and a note reports that.
func TestReplayOfACutRecording(t *testing.T) {
	file := filepath.Join(t.TempDir(), "day.evenkeel.gz")
	r := newRecorded(t, RecordOptions{Out: file, For: time.Hour, Interval: 5 * time.Minute})
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	text := unpacked(t, file)
	writeText(t, file, text[:len(text)-10])
	results, notes := replayed(t, file)
	if !strings.Contains(notes, "the last line is incomplete") || !strings.Contains(notes, "12 readings") || results["none"].Steps == 0 {
		t.Errorf("notes %q, %+v", notes, results["none"])
	}
}

// The command reports what it waits for and what it has recorded. If the output is not a terminal,
// it does so in a line every fifteen seconds.
func TestRecordReportsProgress(t *testing.T) {
	out := filepath.Join(t.TempDir(), "a.gz")
	r := newRecorded(t, RecordOptions{Out: out, For: time.Minute, Interval: 30 * time.Second})
	var told bytes.Buffer
	r.told = terminal.NewProgress(&told, r.clock)
	if err := r.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("Recording to %s, 45s left: 1 reading, the last with 4 of 4 nodes measured and 10 pods; next in 15s\n", out)
	lines := strings.Count(told.String(), "\n")
	if !strings.Contains(told.String(), want) || lines < 3 || lines > 5 {
		t.Errorf("no %q in %d lines:\n%s", want, lines, told.String())
	}
}
