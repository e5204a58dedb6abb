package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"github.com/evenkeel/evenkeel/internal/app"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/output"
	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/scorer/remote"
	"github.com/evenkeel/evenkeel/status"
	"github.com/evenkeel/evenkeel/status/observed"
	"github.com/evenkeel/evenkeel/status/text"
)

// RequestsFormats are the values of -o of `evenkeel requests`.
const RequestsFormats = "table|wide|json|yaml|" + patchFormat

// RequestsOptions are the flags of `evenkeel requests` besides the common ones.
type RequestsOptions struct {
	Format, Color string
	// Nodes are the hot nodes to show; empty shows all.
	Nodes []string
	// All also shows owners that have made no node hot.
	All bool
	// Observe is how long to observe before printing.
	Observe time.Duration
	// Extender is a running process to ask. If its URL is empty, this process
	// observes.
	Extender remote.Extender
	// Progress receives notes about slow steps.
	Progress io.Writer
}

// AddTo adds the flags.
func (o *RequestsOptions) AddTo(set *pflag.FlagSet) {
	set.StringVarP(&o.Format, "output", "o", "table", "Output format: "+RequestsFormats+". patch prints the advice as kubectl commands.")
	set.BoolVarP(&o.All, "all", "A", false, "Show all owners that ask for less CPU than they use, even if no node is hot because of them.")
	set.DurationVar(&o.Observe, "observe", 0, "How long to observe before printing. 0 prints what one reading shows, which is provisional.")
	output.AddColor(set, &o.Color)
	flags.AddRemote(set, &o.Extender, "URL of the reports (--report-address) of a running extender or serve process, reached for example by kubectl port-forward, to use what it knows of the last day. Without it, requests asks a pod of the shipped manifests by port-forward if there is one, unless --policy-config-file or --observe is given.")
}

func (o *RequestsOptions) validate(out io.Writer) error {
	if err := output.Check(out, o.Format, RequestsFormats, o.Color); err != nil {
		return err
	}
	if o.All && len(o.Nodes) > 0 {
		return exit.Usagef("--all and names of nodes cannot be used together")
	}
	return validateLooking(o.Observe, &o.Extender)
}

// Requests runs `evenkeel requests`: it names the owners whose CPU requests misled
// kube-scheduler, from what a process in the cluster knows, from a single reading, or
// after observing for a while. It changes nothing.
func Requests(ctx context.Context, options flags.Options, wanted RequestsOptions, out io.Writer) error {
	if err := wanted.validate(out); err != nil {
		return err
	}
	report, err := wanted.look(ctx, &options)
	if err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	if unknown := report.Only(wanted.Nodes); unknown != "" {
		return fmt.Errorf("no node %q is hot by CPU, so no request made it hot; evenkeel top shows all nodes", unknown)
	}
	if !wanted.All {
		report.OnlyHot()
	}
	if wanted.Format == patchFormat {
		return writePatches(ctx, &options, &report, out)
	}
	return output.Show(out, wanted.Format, wanted.Color, &report, func(p *layout.Page) { text.Requests(p, &report) })
}

// look asks a running process or, if there is none, observes.
func (o *RequestsOptions) look(ctx context.Context, options *flags.Options) (report status.Requests, err error) {
	ask := func(ctx context.Context, of *remote.Extender, name string) (err error) {
		report, err = askForRequests(ctx, of, name)
		return err
	}
	if o.Extender.URL != "" {
		err = ask(ctx, &o.Extender, o.Extender.URL)
		return report, err
	}
	if options.PolicyFile == "" && o.Observe == 0 {
		none := func() bool { return false }
		if done, err := askPod(ctx, options, o.Progress, none, ask); done || err != nil {
			return report, err
		}
	}
	look, err := app.Open(ctx, *options)
	if err != nil {
		return report, err
	}
	observe := func(ctx context.Context) (err error) {
		report, err = o.observe(ctx, look, options.Namespace)
		return err
	}
	err = look.Run(ctx, look.Feed, observe)
	return report, errors.Join(err, ctx.Err())
}

// observe judges what this process observes.
func (o *RequestsOptions) observe(ctx context.Context, look *app.Look, namespace string) (status.Requests, error) {
	watchNodes(ctx, look, o.Observe, o.Progress)
	latest := look.Observer.Latest()
	if latest == nil || latest.Batches == 0 {
		if latest != nil && latest.SourceError() != nil {
			return status.Requests{}, latest.SourceError()
		}
		return status.Requests{}, errors.New("no usage could be read")
	}
	document, err := loadLedger(ctx, look.Kube, namespace)
	report := observed.Requests(latest, look.Observer.PodCPU(), document.Moves)
	if err != nil {
		report.Notes = append(report.Notes, fmt.Sprintf("Evictions are not known, because the ledger could not be read: %v", err))
	}
	return report, nil
}

// askForRequests asks a running process.
func askForRequests(ctx context.Context, of *remote.Extender, name string) (report status.Requests, err error) {
	address, err := of.Address()
	if err != nil {
		return report, err
	}
	ctx, cancel := context.WithTimeout(ctx, nodesTimeout)
	defer cancel()
	if err := of.Ask(ctx, address.JoinPath("requests"), maxNodesBytes, &report); err != nil {
		return report, fmt.Errorf("asking about requests: %w", err)
	}
	at, err := time.Parse(time.RFC3339, report.Observed)
	if err != nil {
		return report, fmt.Errorf("asking %s: it has not read any usage yet", name)
	}
	report.Process, report.SecondsAgo = name, int(max(time.Since(at), 0)/time.Second)
	return report, nil
}
