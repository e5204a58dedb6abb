package commands

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/evictor/history"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/internal/output"
	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/ledger/configmap"
	"github.com/evenkeel/evenkeel/reasons"
)

// HistoryFormats are the values of -o of `evenkeel history`.
const HistoryFormats = "table|wide|json|yaml"

// ByOwner is the value of --by of `evenkeel history`.
const ByOwner = "owner"

// HistoryOptions are the flags of `evenkeel history` besides the common ones.
type HistoryOptions struct {
	// Pod and Owner are namespace/name.
	Pod, Owner, Node string
	// Since is how far to look back; 0 shows everything that is stored.
	Since time.Duration
	// By groups the evictions; empty lists each of them.
	By            string
	Format, Color string
	// Logs are the files to read instead of the ledger, More further files given as
	// arguments; "-" is In.
	Logs, More []string
	In         io.Reader
}

// AddTo adds the flags.
func (o *HistoryOptions) AddTo(flags *pflag.FlagSet) {
	flags.StringVar(&o.Pod, "pod", "", "NAMESPACE/NAME of an evicted pod or of its replacement.")
	flags.StringVar(&o.Owner, "owner", "", "NAMESPACE/NAME of a controller, such as a StatefulSet or a Deployment.")
	flags.StringVar(&o.Node, "node", "", "Node that pods were evicted from or landed on.")
	flags.DurationVar(&o.Since, "since", 0, "How far to look back, such as 12h; 0 shows everything that is stored.")
	flags.StringVar(&o.By, "by", "", "Count the evictions and their outcomes instead of listing each eviction; the only value is "+ByOwner+".")
	flags.StringVarP(&o.Format, "output", "o", "table", "Output format: "+HistoryFormats+".")
	output.AddColor(flags, &o.Color)
	flags.StringArrayVar(&o.Logs, "from-logs", nil, "Log file to read instead of the ledger, along with the files named after it; - is the standard input.")
}

func (o *HistoryOptions) validate(out io.Writer) error {
	if err := output.Check(out, o.Format, HistoryFormats, o.Color); err != nil {
		return err
	}
	for flag, value := range map[string]string{"pod": o.Pod, "owner": o.Owner} {
		if namespace, name, ok := strings.Cut(value, "/"); value != "" && (!ok || namespace == "" || name == "" || strings.Contains(name, "/")) {
			return exit.Usagef("--%s: %q is not NAMESPACE/NAME", flag, value)
		}
	}
	switch {
	case o.By != "" && o.By != ByOwner:
		return exit.Usagef("--by: %q is not %s", o.By, ByOwner)
	case o.Since < 0:
		return exit.Usagef("--since: %v is negative", o.Since)
	case len(o.More) > 0 && len(o.Logs) == 0:
		return exit.Usagef("evenkeel history accepts files only with --from-logs, got %q", o.More)
	}
	return nil
}

func (o *HistoryOptions) query(now time.Time) history.Query {
	q := history.Query{Pod: o.Pod, Owner: o.Owner, Node: o.Node}
	if o.Since > 0 {
		q.Since = now.Add(-o.Since)
	}
	return q
}

// HistoryReport is what `evenkeel history` prints.
type HistoryReport struct {
	HistorySource
	Evictions []HistoryEviction `json:"evictions"`
}

// OwnersReport is what `evenkeel history --by owner` prints.
type OwnersReport struct {
	HistorySource
	Owners []history.OwnerTotals `json:"owners"`
}

// HistorySource describes where the evictions were read.
type HistorySource struct {
	// KeptSince is when the oldest move of the ledger was recorded; absent for
	// logs and an empty ledger.
	KeptSince *time.Time `json:"keptSince,omitempty"`
	// Note reports that there is no ledger.
	Note string `json:"note,omitempty"`
}

// HistoryEviction is an eviction with its result in words.
type HistoryEviction struct {
	history.Entry
	Result string `json:"result"`
}

// History runs `evenkeel history`: it reads the ledger or log files and changes nothing.
func History(ctx context.Context, options flags.Options, wanted HistoryOptions, out io.Writer) error {
	if err := wanted.validate(out); err != nil {
		return err
	}
	var source HistorySource
	var entries []history.Entry
	if len(wanted.Logs) > 0 {
		logs := history.NewLogs(wanted.query(time.Now()))
		for _, name := range append(wanted.Logs, wanted.More...) {
			if err := readLog(logs, name, wanted.In); err != nil {
				return err
			}
		}
		entries = logs.Entries()
	} else {
		document, now, err := storedLedger(ctx, options)
		if err != nil {
			return err
		}
		query := wanted.query(now)
		entries, source.KeptSince = query.OfLedger(&document), keptSince(&document)
		if document.Written.IsZero() {
			source.Note = fmt.Sprintf("Namespace %s has no ledger. If Evenkeel runs in another namespace, set it with --namespace.", options.Namespace)
		}
	}
	if wanted.By == ByOwner {
		report := OwnersReport{source, history.ByOwner(entries)}
		return output.Show(out, wanted.Format, wanted.Color, report, report.table)
	}
	report := HistoryReport{source, make([]HistoryEviction, len(entries))}
	for i := range entries {
		report.Evictions[i] = HistoryEviction{entries[i], entries[i].Result()}
	}
	return output.Show(out, wanted.Format, wanted.Color, report, report.table)
}

func readLog(logs *history.Logs, name string, in io.Reader) error {
	if name == Standard {
		return logs.Read(in)
	}
	file, err := os.Open(name)
	if err != nil {
		return exit.Usagef("--from-logs: %w", err)
	}
	defer func() { _ = file.Close() }() // opened only for reading
	if err := logs.Read(file); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// storedLedger reads the ledger, and the current time by the API server's clock.
func storedLedger(ctx context.Context, options flags.Options) (document ledger.Document, now time.Time, err error) {
	connection, err := options.Connect()
	if err != nil {
		return document, now, err
	}
	if err := connection.Reach(ctx); err != nil {
		return document, now, err
	}
	document, err = loadLedger(ctx, connection, options.Namespace)
	return document, connection.Clock.Now(), err
}

func loadLedger(ctx context.Context, connection *kube.Connection, namespace string) (ledger.Document, error) {
	store, err := configmap.New(configmap.Config{
		Client: connection.Client, Namespace: namespace, Name: evictor.ConfigMapName, Timeout: kube.CallTimeout, Now: connection.Clock.Now,
	})
	if err != nil {
		return ledger.Document{}, err
	}
	return store.Load(ctx)
}

func keptSince(document *ledger.Document) (oldest *time.Time) {
	for i := range document.Moves {
		if at := document.Moves[i].Recorded; oldest == nil || at.Before(*oldest) {
			oldest = &at
		}
	}
	return oldest
}

func (r *HistoryReport) table(p *layout.Page) {
	const name = 12
	all := []layout.Column{
		{Title: "TIME"}, {Title: "POD", Cut: name}, {Title: "OWNER", Cut: name, Drop: 1}, {Title: "FROM", Cut: name}, {Title: "TO", Cut: name},
		{Title: "RESULT", Words: true}, {Title: "WHY", Wrap: true},
	}
	if p.Wide {
		all[len(all)-1].Wrap = false
		all = append(all, layout.Column{Title: "PLUGIN"}, layout.Column{Title: "USED"}, layout.Column{Title: "POLICY"}, layout.Column{Title: "CYCLE"}, layout.Column{Title: "MESSAGE"})
	}
	for i := range r.Evictions {
		layout.Row(all, r.Evictions[i].cells()...)
	}
	if len(r.Evictions) > 0 {
		p.Table("", all...)
	}
	p.Text("", "", "", r.summary())
	r.notes(p)
}

// notes prints where the evictions were read.
func (s *HistorySource) notes(p *layout.Page) {
	if s.Note != "" {
		p.Text("", "", "", s.Note)
	}
	if s.KeptSince != nil {
		p.Text("", "", "", "The ledger reaches back to "+s.KeptSince.UTC().Format(time.RFC3339)+"; earlier evictions are in the logs (--from-logs).")
	}
}

func (r *OwnersReport) table(p *layout.Page) {
	all := []layout.Column{
		{Title: "OWNER", Cut: 12}, {Title: "EVICTIONS", Right: true}, {Title: "HELPED", Right: true}, {Title: "DID NOT HELP", Right: true},
		{Title: "NOT JUDGED", Right: true}, {Title: "LAST", Drop: 1}, {Title: "PLUGINS", Wrap: true},
	}
	if p.Wide {
		all[len(all)-1].Wrap = false
		all = append(all, layout.Column{Title: "DENIED", Right: true})
	}
	for i := range r.Owners {
		t := &r.Owners[i]
		owner := t.Namespace + "/" + t.Owner
		if t.DryRun {
			owner += " (dry run)"
		}
		cells := []string{owner}
		for _, count := range []int{t.Evictions, t.Helped, t.NotHelped, t.NotJudged} {
			cells = append(cells, strconv.Itoa(count))
		}
		cells = append(cells, t.Last.UTC().Format(time.RFC3339), cmp.Or(strings.Join(t.Plugins, ", "), "-"), strconv.Itoa(t.Denied))
		layout.Row(all, cells...)
	}
	if len(r.Owners) == 0 {
		p.Text("", "", "", noEvictions)
	} else {
		p.Table("", all...)
	}
	r.notes(p)
}

const noEvictions = "No evictions found."

// used returns the pod's usage; empty if it is unknown.
func (e *HistoryEviction) used() string {
	if e.CPUMilli == nil || e.MemoryBytes == nil {
		return ""
	}
	return fmt.Sprintf("%dm/%dMi", *e.CPUMilli, *e.MemoryBytes>>20)
}

// cells returns the cells of a wide table.
func (e *HistoryEviction) cells() []string {
	cells := []string{
		e.At.UTC().Format(time.RFC3339), e.Namespace + "/" + e.Pod, e.Owner, e.Node, cmp.Or(e.Landed, e.Destination), e.Result, e.Why(), e.Plugin,
		e.used(), e.Policy, e.Cycle, e.Message,
	}
	for i, text := range cells {
		cells[i] = cmp.Or(text, "-")
	}
	return cells
}

// summary counts the evictions by result.
func (r *HistoryReport) summary() string {
	var words []string
	for _, dryRun := range []bool{false, true} {
		all, helped, not := 0, 0, 0
		for i := range r.Evictions {
			e := &r.Evictions[i]
			if e.DryRun != dryRun {
				continue
			}
			switch did, judged := e.Helped(); {
			case did:
				helped++
			case judged:
				not++
			}
			all++
		}
		of, verdict := "", "helped"
		if dryRun {
			of, verdict = " of a dry run", "would have helped"
		}
		if all > 0 {
			words = append(words, fmt.Sprintf("%s%s: %d %s, %d not, %d not judged.", reasons.Count(all, "eviction"), of, helped, verdict, not, all-helped-not))
		}
	}
	if len(words) == 0 {
		return noEvictions
	}
	return strings.Join(words, " ")
}
