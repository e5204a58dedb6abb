// Package commands implements the commands of the simulator: simulate, which replays
// usage and compares policies, and record, which records a cluster.
package commands

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/app"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/internal/terminal"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/sim/recording"
)

// waitFor waits for the given duration. It returns false if the context ended first.
func waitFor(ctx context.Context, d time.Duration) bool {
	evictor.Sleep(ctx, d)
	return ctx.Err() == nil
}

// recorder writes readings.
type recorder struct {
	options *RecordOptions
	latest  func() *observer.Observation
	synced  func() bool
	nodes   listers.NodeLister
	pods    listers.PodLister
	// now returns the API server's time, which may be adjusted. local returns a time that is
	// not adjusted, for measuring durations.
	now, local func() time.Time
	// arrived counts the objects of the first lists so far.
	arrived func() int64
	// fills is how long usage must be read before it counts if no source has history.
	fills time.Duration
	wait  func(ctx context.Context, d time.Duration) bool
	out   io.Writer
	told  *terminal.Progress
	// last describes the newest reading.
	last string
}

// run records until the time is up or the context ends.
func (r *recorder) run(ctx context.Context) (err error) {
	if err := errors.Join(r.begin(ctx), ctx.Err()); err != nil { // stopped before anything could be recorded
		return err
	}
	file, err := r.create()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	start := r.local()
	hash, err := r.hasher()
	if err != nil {
		return err
	}
	header := recording.Header{Start: r.now().UTC().Truncate(time.Second), IntervalSeconds: int(r.options.Interval / time.Second)}
	w, err := recording.NewWriter(file, header, hash)
	if err != nil {
		return err
	}
	readings, err := r.readings(ctx, w, start)
	r.told.Done()
	if err = errors.Join(err, w.Close()); err != nil {
		return fmt.Errorf("%s: %w", r.options.Out, err)
	}
	_, err = fmt.Fprintf(r.out, "%s: %d readings in %v\n", r.options.Out, readings, r.local().Sub(start).Round(time.Second))
	return err
}

// begin waits until nodes, pods and the usage of at least one node are known. After a
// stall, any reading suffices, even a stale one.
func (r *recorder) begin(ctx context.Context) error {
	still := kube.Patience[int64]{Now: r.local}
	for {
		latest, late := r.latest(), still.Over(r.arrived(), kube.StallTimeout+r.fills)
		switch {
		case latest != nil && latest.SourceError() != nil:
			return latest.SourceError()
		case r.synced() && latest != nil && latest.Batches > 0 && (latest.Fresh > 0 || late):
			return nil
		case late:
			return fmt.Errorf("no usage could be read: %w", kube.ErrNotSynced)
		}
		r.told.Say(r.local(), "Waiting for nodes, pods and a first reading of their usage")
		if !r.wait(ctx, 50*time.Millisecond) {
			return nil
		}
	}
}

func (r *recorder) create() (*os.File, error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if r.options.Force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	const onlyOwner = 0o600 // the recording shows everything that runs in the cluster
	file, err := os.OpenFile(r.options.Out, flags, onlyOwner)
	switch {
	case errors.Is(err, fs.ErrExist):
		return nil, exit.Usagef("--out: %s is there already; --force overwrites it", r.options.Out)
	case err != nil:
		return nil, fmt.Errorf("creating the recording: %w", err)
	}
	// An existing file keeps its mode.
	if info, err := file.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm() != onlyOwner {
		if err := file.Chmod(onlyOwner); err != nil {
			return nil, errors.Join(fmt.Errorf("creating the recording: %w", err), file.Close())
		}
	}
	return file, nil
}

// readings takes a reading whenever one is due. After a stall it skips the
// numbers of the missed ones.
func (r *recorder) readings(ctx context.Context, w *recording.Writer, start time.Time) (count int, err error) {
	const look = time.Second // to notice stalls of the machine
	for last := -1; ; {
		passed := r.local().Sub(start)
		if number := int(passed / r.options.Interval); number > last {
			if err := r.take(w, number); err != nil {
				return count, err
			}
			last, count = number, count+1
			klog.FromContext(ctx).V(2).Info("Recorded", "reading", number)
		}
		due := time.Duration(last+1) * r.options.Interval
		r.told.Say(r.local(), r.progress(count, passed, due))
		if r.options.For > 0 && due > r.options.For {
			return count, nil
		}
		if !r.wait(ctx, min(look, max(time.Millisecond, due-passed))) {
			return count, nil
		}
	}
}

// progress describes what was recorded and how long recording will continue.
func (r *recorder) progress(count int, passed, due time.Duration) string {
	left := "until stopped"
	if r.options.For > 0 {
		left = fmt.Sprintf("%v left", (r.options.For - passed).Round(time.Second))
	}
	return fmt.Sprintf("Recording to %s, %s: %s, the last with %s; next in %v",
		r.options.Out, left, reasons.Count(count, "reading"), r.last, max(due-passed, 0).Round(time.Second))
}

// take writes one reading.
func (r *recorder) take(w *recording.Writer, number int) error {
	nodes, err := r.nodes.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("listing nodes: %w", err)
	}
	pods, err := r.pods.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("listing pods: %w", err)
	}
	slices.SortFunc(nodes, func(a, b *v1.Node) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(pods, func(a, b *v1.Pod) int { return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name) })
	used := usedOf(r.latest().View)
	readings := make([]recording.NodeReading, len(nodes))
	for i, node := range nodes {
		readings[i] = recording.NodeReading{Object: node, Used: used.nodes[node.Name]}
	}
	bound := make([]recording.PodReading, 0, len(pods))
	for _, pod := range pods {
		if pod.Spec.NodeName != "" && pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed {
			bound = append(bound, recording.PodReading{Object: pod, Used: used.pods[pod.UID]})
		}
	}
	r.last = fmt.Sprintf("%d of %s measured and %s", len(used.nodes), reasons.Count(len(nodes), "node"), reasons.Count(len(bound), "pod"))
	return w.Reading(number, readings, bound)
}

// measuredUsage is the usage that is known.
type measuredUsage struct {
	nodes map[string]*cluster.Amounts
	pods  map[types.UID]*cluster.Amounts
}

// usedOf returns the measured usage as five-minute means.
func usedOf(view *usage.View) measuredUsage {
	k := measuredUsage{map[string]*cluster.Amounts{}, map[types.UID]*cluster.Amounts{}}
	for i, node := range view.Snapshot.Nodes {
		if view.Nodes[i].Known() {
			k.nodes[node.Node.Name] = new(view.Nodes[i].Whole(usage.AtAvg5m))
		}
		for j, pod := range node.Pods {
			if p := &view.Nodes[i].Pods[j]; p.Measured {
				k.pods[types.UID(pod.UID)] = &p.Used
			}
		}
	}
	return k
}

// saltBytes is the length of a random salt.
const saltBytes = 32

// hasher returns a Hasher for names; nil unless --hash-names is set.
func (r *recorder) hasher() (*recording.Hasher, error) {
	switch {
	case !r.options.HashNames:
		return nil, nil
	case r.options.Salt != "":
		return recording.NewHasher([]byte(r.options.Salt)), nil
	}
	salt := make([]byte, saltBytes)
	if _, err := rand.Read(salt); err != nil {
		return nil, fmt.Errorf("making a salt: %w", err)
	}
	return recording.NewHasher(salt), nil
}

// Record runs `evenkeel record`. It observes usage like `evenkeel top`, and records
// nodes, pods and usage in a file. It changes nothing in the cluster. A recording that is
// stopped early is still valid. If it is stopped before the first reading, no recording
// is written.
func Record(ctx context.Context, options flags.Options, record RecordOptions, out io.Writer) error {
	if err := record.validate(); err != nil {
		return exit.Usage(err)
	}
	options.Recording = true
	look, err := app.Open(ctx, options)
	if err != nil {
		return err
	}
	slimmer := recordedSlim()
	factory := informers.NewSharedInformerFactoryWithOptions(look.Kube.Client, 0, informers.WithTransform(slimmer.Transform))
	if err := look.Kube.WatchPods(factory, slimmer); err != nil {
		return err
	}
	synced, err := look.Observer.Store().Attach(factory)
	if err != nil {
		return err
	}
	r := &recorder{
		options: &record, latest: look.Observer.Latest, synced: synced, now: look.Kube.Clock.Now, local: look.Kube.Clock.Local,
		arrived: look.Kube.FirstPods(synced), fills: max(look.Load.Usage.ObservationPeriod.Duration, look.Load.Hot.MinWindow.Duration), wait: waitFor, out: out, told: terminal.NewProgress(record.Progress, look.Kube.Clock.Local()),
		nodes: factory.Core().V1().Nodes().Lister(), pods: factory.Core().V1().Pods().Lister(),
	}
	watching, cancel := context.WithCancel(ctx)
	defer factory.Shutdown()
	defer cancel()
	factory.Start(watching.Done())
	if err := look.Run(ctx, r.run); err != nil || r.last != "" {
		return err
	}
	return ctx.Err() // which Run treats as success
}
