package cleanup

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/evenkeel/evenkeel/evictor"
	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/scorer/admission"
)

// Config defines what to clean up.
type Config struct {
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
	Clock   evictor.Clock
	// Namespace is the namespace of the Leases, the ledger and the kill switch.
	Namespace string
	// Leases names the Leases: first that of the evicting process, then that of a separate
	// nodesync.
	Leases []string
	// After is the mode to clean up after.
	After Mode
	// Ledger also removes the ledger, the Leases and the kill switch.
	Ledger bool
	// DryRun changes nothing.
	DryRun bool
}

// Mode states which processes have ended.
type Mode string

// The modes.
const (
	// All means that Evenkeel no longer runs.
	All Mode = ""
	// Evicting means that the evicting process has ended. A separate nodesync may be
	// running, so what it wrote to nodes stays.
	Evicting Mode = "evicting"
	// NodeSync means that a separate nodesync has ended. The evicting process may be
	// running, so its keys, gates and ledger stay, as does what it wrote to nodes.
	NodeSync Mode = "nodesync"
)

// Entry is one item that was found.
type Entry struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Says describes what was or would be done, or why the item is left.
	Says string `json:"says"`
}

// Report lists everything that was found, and the result for each.
type Report struct {
	DryRun bool `json:"dryRun"`
	// Done lists what was removed or, in a dry run, would be removed.
	Done []Entry `json:"done"`
	// Left lists what could not be removed.
	Left []Entry `json:"left"`
	// Notes lists what was skipped or intentionally left in place.
	Notes []string `json:"notes,omitempty"`
}

const (
	// maxPasses is how many times to search for keys and held pods, with a pause of settling
	// in between, because API servers notice a deleted key with a delay.
	maxPasses = 4
	settling  = 500 * time.Millisecond
	// maxFailures is how many changes of one kind may fail in a row. After that, further
	// changes would probably fail, too.
	maxFailures = 5
	// callTimeout bounds a call to the API server.
	callTimeout = 10 * time.Second
)

// cleaner is one run.
type cleaner struct {
	Config
	steering *admission.Leftovers
	report   Report
	// runs reports whether an evicting process holds its Lease; marks reports whether a
	// separate nodesync does.
	runs, marks bool
}

// done records what was done or would be done. The text follows "is", "are" or "would
// be".
func (c *cleaner) done(kind, namespace, name, verb, format string, args ...any) {
	if c.DryRun {
		verb = "would be"
	}
	c.report.Done = append(c.report.Done, Entry{kind, namespace, name, verb + " " + fmt.Sprintf(format, args...)})
}

func (c *cleaner) left(kind, namespace, name, format string, args ...any) {
	c.report.Left = append(c.report.Left, Entry{kind, namespace, name, fmt.Sprintf(format, args...)})
}

func (c *cleaner) note(format string, args ...any) {
	c.report.Notes = append(c.report.Notes, fmt.Sprintf(format, args...))
}

// change makes a change, unless this is a dry run.
func (c *cleaner) change(ctx context.Context, call func(context.Context) error) error {
	if c.DryRun {
		return nil
	}
	return call(ctx)
}

func (e *Entry) subject() string {
	switch {
	case e.Name == "":
		return e.Kind
	case e.Namespace == "":
		return e.Kind + " " + e.Name
	}
	return e.Kind + " " + e.Namespace + "/" + e.Name
}

// Table prints the report for a user, one line per item. interrupted is why the
// run ended early; nil if it did not.
func (r *Report) Table(p *layout.Page, interrupted error) {
	for i := range r.Done {
		p.Line("", fmt.Sprintf("%s %s.", r.Done[i].subject(), r.Done[i].Says))
	}
	for i := range r.Left {
		p.Line("", fmt.Sprintf("LEFT: %s: %s.", r.Left[i].subject(), r.Left[i].Says))
	}
	for _, note := range r.Notes {
		p.Line("", note+".")
	}
	switch {
	case interrupted != nil:
		p.Line("", "Not everything was checked: run it again.")
	case len(r.Left) > 0:
		p.Line("", reasons.Count(len(r.Left), "thing")+" could not be removed.")
	case r.DryRun && len(r.Done) > 0:
		p.Line("", "Nothing was changed (--dry-run).")
	default:
		p.Line("", "Nothing is left.")
	}
}
