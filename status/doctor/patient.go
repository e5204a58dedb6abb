package doctor

import (
	"cmp"
	"slices"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/source"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/reasons"
)

// Mode is the command whose process is examined.
type Mode string

// The modes.
const (
	ModeRun      Mode = "run"
	ModeServe    Mode = "serve"
	ModeExtender Mode = "extender"
	ModeNodeSync Mode = "nodesync"
)

// Modes lists every Mode.
func Modes() []Mode { return []Mode{ModeRun, ModeServe, ModeExtender, ModeNodeSync} }

// Evicts reports whether the process runs cycles.
func (m Mode) Evicts() bool { return m == ModeRun || m == ModeServe }

// Patient holds everything that is examined.
type Patient struct {
	Mode       Mode
	PolicyFile string // empty: the defaults apply
	Load       *policy.LoadPolicy
	// Sources are those that are asked, in order: the policy's, or upstream's
	// metricsProviders.
	Sources []policy.Source
	// MovesByUsage says that a profile of the policy has a strategy that moves pods by
	// usage.
	MovesByUsage bool

	// Unread are the namespaces whose annotation evenkeel.io/evict is neither true
	// nor false.
	Unread []string
	// Unwatched are the kinds of controllers of ReplicationControllers whose annotations
	// are not read, because the policy does not name them.
	Unwatched []string

	Rights Rights
	// Readings are nil if nodes and pods could not be listed; Unlisted says
	// why.
	Readings *Readings
	Unlisted string
	Extender Extender
	// SchedulerConfig is kube-scheduler's configuration; nil if not given.
	SchedulerConfig *SchedulerConfig
	// LegacyPlugins are the names besides EvenkeelLoad by which kube-scheduler
	// knows Evenkeel's plugin.
	LegacyPlugins []string
	Pause         Pause
	Ledger        Ledger
	Clock         Clock
	// Fence says whether nodesync may change more of nodes than it does.
	Fence Fence
	// Steering is what is known of steering by the API server.
	Steering Steering
}

// Steering is what is known of steering by the API server.
type Steering struct {
	// Version is that of Kubernetes, such as v1.36.3; empty if it is not known.
	Version string
	// Unserved says that the API server has no MutatingAdmissionPolicies of v1.
	Unserved bool
	// Parts are the shipped objects; none if nothing was looked for.
	Parts []Part
	// Keys are those of all namespaces, at the API server's time At.
	Keys []Keys
	At   time.Time
	// Held are the pods that the gate has held for longer than Overdue.
	Held    []string
	Overdue time.Duration
	// Webhooks are those that see new pods.
	Webhooks []Webhook
	// Unread are what could not be read, and why.
	Unread []string
}

// PartState is what became of a shipped object.
type PartState uint8

// The states of a Part.
const (
	PartUnread PartState = iota // it may not be read
	PartMissing
	PartOther // its content is not this version's
	PartShipped
)

// Part is a shipped object.
type Part struct {
	Kind, Name string
	State      PartState
	// Where is the first field that differs.
	Where string
}

// Keys are those of a namespace.
type Keys struct {
	Namespace string
	// Ends are when they end.
	Ends []time.Time
}

// Webhook is one that is called for new pods.
type Webhook struct {
	// Name is that of its configuration and its own.
	Name, FailurePolicy, ReinvocationPolicy string
}

// Clock is how this machine's clock compares with the API server's.
type Clock struct {
	// Known says that the API server has sent its time often enough.
	Known bool
	// Skew is the API server's time less this machine's; zero up to
	// servertime.Tolerance.
	Skew time.Duration
}

// Readings are those of all usage sources at one moment. Every source is asked,
// whatever the others returned.
type Readings struct {
	At       time.Time
	Snapshot *cluster.Snapshot
	// Sources is parallel to Patient.Sources.
	Sources []Reading
	// View combines them, the first choice first.
	View *usage.View
}

// Reading is what one usage source returned.
type Reading struct {
	Took time.Duration
	Err  error
	// Remembers says that the source has history.
	Remembers bool
	Batch     usage.Batch
	// Problems are the samples that the source itself or the usage store
	// rejected.
	Problems usage.Problems
}

// sourceName names a source by its type: no policy has two of one type.
func (p *Patient) sourceName(i int) string { return p.Sources[i].Type }

// advice returns a source's own advice on a topic, or the general one.
func advice(s *policy.Source, topic source.Topic, otherwise string) string {
	return cmp.Or(s.Config.Describe().Advice[topic], otherwise)
}

// answered counts the sources that could be read.
func (p *Patient) answered() int {
	n := 0
	for i := range p.Readings.Sources {
		if p.Readings.Sources[i].Err == nil {
			n++
		}
	}
	return n
}

// readyNodes returns the indices of the ready nodes that have to be measured.
func (r *Readings) readyNodes() []int {
	var ready []int
	for i, node := range r.Snapshot.Nodes {
		if node.Node.Measured() {
			ready = append(ready, i)
		}
	}
	return ready
}

// needed are the resources that the policy judges by: a node without them is
// unknown.
func (p *Patient) needed() []usage.Metric {
	needed := []usage.Metric{}
	judged := p.judged()
	for _, resource := range []struct{ metric, also usage.Metric }{{usage.CPU, usage.CPU}, {usage.Memory, policy.MemoryAvailable}} {
		if judged[resource.metric] || judged[resource.also] {
			needed = append(needed, resource.metric)
		}
	}
	return needed
}

// Incomplete reports whether a source reported nodes without a resource that
// the policy judges by, so that a second reading may add it.
func (p *Patient) Incomplete() bool {
	return slices.ContainsFunc(p.Readings.Sources, func(r Reading) bool {
		return slices.ContainsFunc(p.needed(), func(metric usage.Metric) bool { return nodesWith(&r.Batch, metric) < len(r.Batch.Nodes) })
	})
}

func nodesWith(batch *usage.Batch, metric usage.Metric) int {
	n := 0
	for i := range batch.Nodes {
		if slices.ContainsFunc(batch.Nodes[i].Readings, func(r usage.Reading) bool { return r.Metric == metric }) {
			n++
		}
	}
	return n
}

// judged are the metrics that have lines, in the policy or its pools.
func (p *Patient) judged() map[usage.Metric]bool {
	judged := map[usage.Metric]bool{}
	for _, lines := range p.Load.AllLines() {
		for metric := range lines {
			judged[metric] = true
		}
	}
	return judged
}

// Extender is what an extender reports about itself.
type Extender struct {
	// URL is where it was asked; empty if it was not.
	URL string
	// Err is why it gave no answer.
	Err error
	// Started is when it started, LastAsked when kube-scheduler last asked;
	// zero if it does not say.
	Started, LastAsked time.Time
	// Asked counts the requests of kube-scheduler since its start.
	Asked int64
	// Gate says why it would evict nothing; empty if it would evict.
	Gate string
}

// Need is one permission that a process needs.
type Need struct {
	Verb, Group string
	// Resource may have a subresource after a slash.
	Resource string
	// Namespace and Name narrow it down; empty means all.
	Namespace, Name string
	// For is its purpose.
	For string
	// Source is the usage source that needs it; empty if the process does.
	Source string
	// Fallback marks a permission that the process can do without, because there
	// is another way.
	Fallback bool
}

// Pause is the state of the kill switch.
type Pause struct {
	// Reason is Paused, PauseUnreadable or empty; Says puts it into words.
	Reason reasons.Reason
	Says   string
	// ByAnnotation: the Annotation of the ConfigMap Ledger pauses, not the
	// ConfigMap Name.
	ByAnnotation bool
	// Namespace is where the ConfigMaps Name and Ledger are.
	Namespace, Name, Ledger, Annotation string
}

// Ledger is what is known of the stored ledger.
type Ledger struct {
	// Stored reports whether there is one. If there is none, Elsewhere are the
	// namespaces that have a ledger or a kill switch, as far as listing is allowed.
	Stored    bool
	Elsewhere []string
	// Err is why it cannot be read; nil if it can, or if there is none.
	Err error
	// Accept is the command that accepts the loss of content that is no ledger, empty
	// if it could not be fetched. Accepted: that command was given.
	Accept   string
	Accepted bool
}

// Fence is whether the API server lets nodesync change only what is its own on
// nodes.
type Fence uint8

// The states of the fence.
const (
	FenceUnknown Fence = iota // not asked, or no answer
	FenceClosed
	FenceOpen
	FenceNarrow // it refuses keys of nodesync's own
)

// Rights are the API server's answers about the needs of a process.
type Rights struct {
	// Identity is the user whose rights were checked.
	Identity string
	Answers  []Answer
}

// Answer is the API server's answer about one Need.
type Answer struct {
	Need
	Allowed bool
	// Err is why it could not be asked.
	Err error
}

// SchedulerConfig is a file with kube-scheduler's configuration.
type SchedulerConfig struct {
	// Name is the file's name as it was given, Data what it holds.
	Name string
	Data []byte
}
