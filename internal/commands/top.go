package commands

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"github.com/evenkeel/evenkeel/internal/app"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/internal/output"
	"github.com/evenkeel/evenkeel/internal/terminal"
	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/scorer/remote"
	"github.com/evenkeel/evenkeel/status"
	"github.com/evenkeel/evenkeel/status/observed"
	"github.com/evenkeel/evenkeel/status/text"
)

// TopFormats are the values of -o of `evenkeel top`.
const TopFormats = "table|wide|json|yaml|name"

// TopOptions are the flags of `evenkeel top` besides the common ones.
type TopOptions struct {
	Format string
	// Observe is how long to observe before printing.
	Observe time.Duration
	// Watch prints again with each reading.
	Watch bool
	Color string
	// Extender is a running process to ask. If its URL is empty, this process
	// observes.
	Extender remote.Extender
	// Progress receives notes about slow steps.
	Progress io.Writer
}

// AddTo adds the flags.
func (o *TopOptions) AddTo(set *pflag.FlagSet) {
	set.StringVarP(&o.Format, "output", "o", "table", "Output format: "+TopFormats+".")
	set.DurationVar(&o.Observe, "observe", 0, "How long to observe before printing. 0 prints one reading, whose states are provisional unless the usage source has history.")
	set.BoolVarP(&o.Watch, "watch", "w", false, "Print again with each reading, until stopped.")
	output.AddColor(set, &o.Color)
	flags.AddRemote(set, &o.Extender, "URL of the reports (--report-address) of a running extender or serve process, reached for example by kubectl port-forward, to show its windows and moves. Without it, top asks a pod of the shipped manifests by port-forward if there is one, unless --policy-config-file or --observe is given.")
}

func (o *TopOptions) validate(out io.Writer) error {
	if err := output.Check(out, o.Format, TopFormats, o.Color); err != nil {
		return err
	}
	if o.Watch && o.Format != "table" && o.Format != "wide" {
		return exit.Usagef("--watch can be combined with -o table and -o wide, not with -o %s", o.Format)
	}
	return validateLooking(o.Observe, &o.Extender)
}

// validateLooking checks the flags of a command that either asks a running process or
// observes by itself.
func validateLooking(observe time.Duration, extender *remote.Extender) error {
	switch {
	case observe < 0:
		return exit.Usagef("--observe: %v is negative", observe)
	case extender.URL == "":
		return nil
	case observe > 0:
		return exit.Usagef("--observe and --extender-url cannot be used together, because that process is already observing")
	}
	if err := extender.Validate(); err != nil {
		return exit.Usagef("--extender-url: %w", err)
	}
	return nil
}

// Top runs `evenkeel top`: it prints each node as observed by a process in the cluster,
// from a single reading, or after observing for a while.
func Top(ctx context.Context, options flags.Options, wanted TopOptions, out io.Writer) error {
	if err := wanted.validate(out); err != nil {
		return err
	}
	shown := topScreen{wanted: &wanted, out: out}
	if wanted.Extender.URL != "" {
		return shown.follow(ctx, &wanted.Extender, wanted.Extender.URL)
	}
	if options.PolicyFile == "" && wanted.Observe == 0 {
		if done, err := shown.followPod(ctx, &options); done || err != nil {
			return err
		}
	}
	look, err := app.Open(ctx, options)
	if err != nil {
		return err
	}
	observe := func(ctx context.Context) error { return shown.observe(ctx, look) }
	if err := look.Run(ctx, look.Feed, observe); err != nil || wanted.Watch {
		return err
	}
	return ctx.Err()
}

// topScreen prints what was observed.
type topScreen struct {
	wanted *TopOptions
	out    io.Writer
	shown  bool // a report has been printed
}

// observe shows what this process observes.
func (t *topScreen) observe(ctx context.Context, look *app.Look) error {
	watchNodes(ctx, look, t.wanted.Observe, t.wanted.Progress)
	for ctx.Err() == nil {
		latest := look.Observer.Latest()
		if latest == nil || latest.Batches == 0 {
			if latest != nil && latest.SourceError() != nil {
				return latest.SourceError()
			}
			return errors.New("no usage could be read")
		}
		report := observed.Top(latest, look.Load, look.Pause.Read(ctx, false).String())
		if err := t.show(&report); err != nil || !t.wanted.Watch {
			return err
		}
		for look.Observer.Latest() == latest && waitFor(ctx, 100*time.Millisecond) {
			continue
		}
	}
	return nil
}

// followPod shows what a process in the cluster observes, with the user's permissions. It
// reports whether a process could be asked.
func (t *topScreen) followPod(ctx context.Context, options *flags.Options) (done bool, err error) {
	return askPod(ctx, options, t.wanted.Progress, func() bool { return t.shown }, t.follow)
}

// askPod calls ask with the reports of a process in the cluster, with the user's
// permissions. done is false if the command should observe by itself, because there is no
// such process, or because its reports could not be read before anything was shown.
func askPod(ctx context.Context, options *flags.Options, progress io.Writer, shown func() bool, ask func(ctx context.Context, of *remote.Extender, name string) error) (done bool, err error) {
	connection, err := options.Connect()
	if err != nil {
		return false, err
	}
	found, _ := candidates(ctx, connection.Client, cmp.Or(options.Namespace, flags.DefaultNamespace)) // the fallback, observing, gives a better error message
	pod := reporting(found)
	if pod == nil {
		return false, nil
	}
	name := "pod " + pod.Namespace + "/" + pod.Name
	err = connection.Forward(ctx, pod.Namespace, pod.Name, reportPort, func(ctx context.Context, address string) error {
		return ask(ctx, &remote.Extender{URL: "http://" + address}, name)
	})
	if err != nil && !shown() && ctx.Err() == nil {
		if progress != nil {
			line(progress, "This command observes itself, because the reports of %s could not be read: %v", name, err)
		}
		return false, nil
	}
	return true, err
}

// follow shows what another process observes.
func (t *topScreen) follow(ctx context.Context, of *remote.Extender, name string) error {
	const askEvery = 5 * time.Second
	for observed := ""; ; {
		report, err := askForNodes(ctx, of, name)
		if err != nil {
			return exit.UnlessStopped(ctx, err)
		}
		if report.Observed != observed || t.onScreen() { // on the screen, the age must be updated even if nothing else changed
			observed = report.Observed
			if err := t.show(&report); err != nil {
				return err
			}
		}
		if !t.wanted.Watch || !waitFor(ctx, askEvery) {
			return nil
		}
	}
}

const (
	// maxNodesBytes is the maximum size of a report from another process. With 5000 nodes,
	// it takes about five MiB.
	maxNodesBytes = 64 << 20
	// nodesTimeout is how long reading that report may take.
	nodesTimeout = 10 * time.Second
)

// askForNodes asks a running process what it observed.
func askForNodes(ctx context.Context, of *remote.Extender, name string) (status.Top, error) {
	address, err := of.Address()
	if err != nil {
		return status.Top{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, nodesTimeout)
	defer cancel()
	var answered status.Status
	var nodes []status.NodeStatus
	if err := of.Ask(ctx, address.JoinPath("status"), maxNodesBytes, &answered); err != nil {
		return status.Top{}, fmt.Errorf("asking for usage: %w", err)
	}
	if err := of.Ask(ctx, address.JoinPath("nodes"), maxNodesBytes, &nodes); err != nil {
		return status.Top{}, fmt.Errorf("asking for usage: %w", err)
	}
	report, err := status.TopOfProcess(name, &answered, nodes, time.Now())
	if err != nil {
		return status.Top{}, fmt.Errorf("asking %s: %w", name, err)
	}
	return report, nil
}

// onScreen reports whether each report replaces the previous one.
func (t *topScreen) onScreen() bool { return t.wanted.Watch && terminal.FileOf(t.out) != nil }

// show prints a report in one write, so that a terminal does not flicker.
func (t *topScreen) show(report *status.Top) error {
	style, err := output.StyleOf(t.out, t.wanted.Color)
	if err != nil {
		return err
	}
	var frame bytes.Buffer
	switch {
	case t.onScreen():
		frame.WriteString(terminal.Home)
	case t.shown:
		frame.WriteByte('\n')
	}
	t.shown = true
	if err := t.print(&frame, report, style); err != nil {
		return err
	}
	if _, err := t.out.Write(frame.Bytes()); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

func (t *topScreen) print(frame *bytes.Buffer, report *status.Top, style layout.Style) error {
	if t.wanted.Format == "name" {
		for i := range report.Nodes {
			line(frame, "node/%s", layout.Printable(report.Nodes[i].Name))
		}
		return nil
	}
	view := text.View{Style: style, Wide: t.wanted.Format == "wide"}
	if t.wanted.Watch {
		line(frame, "Observed at %s. Ctrl-C ends this.", report.Observed)
		view.Most = fitting(report, view)
	}
	return output.Write(frame, t.wanted.Format, report, func(out io.Writer) error { return text.Top(out, report, view) })
}

// fitting returns how many nodes fit on the screen; 0 means all.
func fitting(report *status.Top, view text.View) int {
	if view.Height == 0 {
		return 0
	}
	const least = 3
	var one bytes.Buffer
	view.Most = 1
	if text.Top(&one, report, view) != nil { // writing to a buffer does not fail
		return 0
	}
	return max(view.Height-bytes.Count(one.Bytes(), []byte{'\n'})-1, least)
}

// topTimeout is how long the first reading may take once nodes and pods are known, and
// how long their lists may make no progress.
const topTimeout = 30 * time.Second

// watchNodes waits until nodes are known and usage has been read for the given time.
func watchNodes(ctx context.Context, look *app.Look, observe time.Duration, progress io.Writer) {
	w := nodeWatch{
		latest: look.Observer.Latest, arrived: look.Kube.FirstPods(look.Observer.Store().Synced), observe: observe, local: look.Kube.Clock.Local,
		still: kube.Patience[int64]{Now: look.Kube.Clock.Local},
	}
	told := terminal.NewProgress(progress, w.local())
	defer told.Done()
	for !w.done() && waitFor(ctx, 50*time.Millisecond) {
		told.Say(w.local(), w.progress())
	}
}

// nodeWatch waits for readings. It uses the local time at which it saw each reading, because the readings' own
// timestamps come from a clock that may be adjusted.
type nodeWatch struct {
	latest  func() *observer.Observation
	arrived func() int64
	observe time.Duration
	local   func() time.Time

	still kube.Patience[int64]
	// newest is the last reading seen. first is when the first reading with nodes was seen.
	newest *observer.Observation
	first  time.Time
}

// done reports whether waiting is over.
func (w *nodeWatch) done() bool {
	w.newest = w.latest()
	switch latest := w.newest; {
	case latest == nil:
	case latest.SourceError() != nil && w.observe == 0:
		return true
	case w.first.IsZero() && latest.Batches > 0 && len(latest.View.Nodes) > 0:
		w.first = w.local()
	}
	if !w.first.IsZero() && w.local().Sub(w.first) >= w.observe {
		return true
	}
	return w.still.Over(w.arrived(), w.observe+topTimeout)
}

// progress describes what nodeWatch waits for.
func (w *nodeWatch) progress() string {
	if w.first.IsZero() {
		return "Waiting for nodes, pods and a first reading of their usage"
	}
	left := w.observe - w.local().Sub(w.first)
	return fmt.Sprintf("Observing: %d of %d ready nodes measured for long enough, %v left", w.newest.Fresh, w.newest.Ready, max(left, 0).Round(time.Second))
}
