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

// Installation is the installation that is examined.
type Installation struct {
	Mode       Mode
	PolicyFile string // empty if the defaults apply
	Load       *policy.LoadPolicy
	// Sources lists the policy's usage sources, or upstream's metricsProviders, in the
	// order in which they are asked.
	Sources []policy.Source
	// MovesByUsage is true if a profile of the policy has a strategy that moves pods by usage.
	MovesByUsage bool

	// InvalidAnnotations lists the namespaces whose annotation evenkeel.io/evict is neither true nor
	// false.
	InvalidAnnotations []string
	// Unwatched lists the kinds of controllers that own ReplicationControllers but whose
	// annotations are not read, because the policy does not name them.
	Unwatched []string

	Rights Rights
	// Readings is nil if nodes and pods could not be listed; Unlisted is then the error.
	Readings *Readings
	Unlisted string
	Extender Extender
	// SchedulerConfig is kube-scheduler's configuration; nil if not given.
	SchedulerConfig *SchedulerConfig
	// LegacyPlugins lists the names of Evenkeel's plugin in kube-scheduler besides
	// EvenkeelLoad.
	LegacyPlugins []string
	Pause         Pause
	Ledger        Ledger
	Clock         Clock
	// Fence states whether nodesync can change more on nodes than it needs.
	Fence Fence
	// Steering is the state of steering by the API server.
	Steering Steering
}

// Steering is the state of steering by the API server.
type Steering struct {
	// Version is the version of Kubernetes, such as v1.36.3; empty if unknown.
	Version string
	// Unserved is true if the API server does not serve MutatingAdmissionPolicy v1.
	Unserved bool
	// Parts are the shipped objects; none if they were not checked.
	Parts []Part
	// Keys holds the keys of all namespaces, read when the API server's time was At.
	Keys []Keys
	At   time.Time
	// Held lists the pods that the gate has held for longer than Overdue.
	Held    []string
	Overdue time.Duration
	// Webhooks lists the admission webhooks that match pod creation.
	Webhooks []Webhook
	// Unread lists the objects that could not be read, and why.
	Unread []string
}

// PartState is the state of a shipped object.
type PartState uint8

// The states of a Part.
const (
	PartUnread PartState = iota // not readable
	PartMissing
	PartOther // present, but in another version
	PartShipped
)

// Part is a shipped object.
type Part struct {
	Kind, Name string
	State      PartState
	// Where is the path of the first field that differs.
	Where string
}

// Keys holds the keys of a namespace.
type Keys struct {
	Namespace string
	// Ends holds the times at which the keys end.
	Ends []time.Time
}

// Webhook is an admission webhook that is called for new pods.
type Webhook struct {
	// Name contains the name of the webhook's configuration and that of the webhook.
	Name, FailurePolicy, ReinvocationPolicy string
}

// Clock compares this machine's clock with the API server's.
type Clock struct {
	// Known is true if the API server has sent its time often enough.
	Known bool
	// Skew is the API server's time minus this machine's; zero up to
	// servertime.Tolerance.
	Skew time.Duration
}

// Readings holds the readings of all usage sources at one time. Every source is asked,
// regardless of what the others returned.
type Readings struct {
	At       time.Time
	Snapshot *cluster.Snapshot
	// Sources is parallel to Installation.Sources.
	Sources []Reading
	// View combines the sources; earlier ones take precedence.
	View *usage.View
}

// Reading is the result of asking one usage source.
type Reading struct {
	Took time.Duration
	Err  error
	// Remembers is true if the source has history.
	Remembers bool
	Batch     usage.Batch
	// Problems are the samples that the source itself or the usage store
	// rejected.
	Problems usage.Problems
}

// sourceName returns the type of a source, which is unique in a policy.
func (p *Installation) sourceName(i int) string { return p.Sources[i].Type }

// advice returns a source's own advice on a topic, or otherwise the general advice.
func advice(s *policy.Source, topic source.Topic, otherwise string) string {
	return cmp.Or(s.Config.Describe().Advice[topic], otherwise)
}

// answered returns the number of sources that could be read.
func (p *Installation) answered() int {
	n := 0
	for i := range p.Readings.Sources {
		if p.Readings.Sources[i].Err == nil {
			n++
		}
	}
	return n
}

// readyNodes returns the indices of the ready nodes that must be measured.
func (r *Readings) readyNodes() []int {
	var ready []int
	for i, node := range r.Snapshot.Nodes {
		if node.Node.Measured() {
			ready = append(ready, i)
		}
	}
	return ready
}

// needed returns the resources for which the policy has lines. A node without them is
// unknown.
func (p *Installation) needed() []usage.Metric {
	needed := []usage.Metric{}
	judged := p.judged()
	for _, resource := range []struct{ metric, also usage.Metric }{{usage.CPU, usage.CPU}, {usage.Memory, policy.MemoryAvailable}} {
		if judged[resource.metric] || judged[resource.also] {
			needed = append(needed, resource.metric)
		}
	}
	return needed
}

// Incomplete reports whether a source reported nodes without a resource that the policy
// needs, so that a second reading may add it.
func (p *Installation) Incomplete() bool {
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

// judged returns the metrics that have lines in the policy or its pools.
func (p *Installation) judged() map[usage.Metric]bool {
	judged := map[usage.Metric]bool{}
	for _, lines := range p.Load.AllLines() {
		for metric := range lines {
			judged[metric] = true
		}
	}
	return judged
}

// Extender is the status of an extender.
type Extender struct {
	// URL is the address to which the request was sent; empty if there was none.
	URL string
	// Err is the error if the extender did not answer.
	Err error
	// Started is when the extender started, and LastAsked when kube-scheduler last asked
	// it; zero if unknown.
	Started, LastAsked time.Time
	// Asked counts kube-scheduler's requests since the extender's start.
	Asked int64
	// Gate is the reason why the process would evict nothing; empty if it would evict.
	Gate string
}

// Need is one permission that a process needs.
type Need struct {
	Verb, Group string
	// Resource may have a subresource after a slash.
	Resource string
	// Namespace and Name restrict the permission; empty means all.
	Namespace, Name string
	// For is the purpose of the permission.
	For string
	// Source is the usage source that needs the permission; empty if the process itself
	// does.
	Source string
	// Fallback marks a permission that is used only if a preferred one is missing.
	Fallback bool
}

// Pause is the state of the kill switch.
type Pause struct {
	// Reason is Paused, PauseUnreadable or empty. Says describes it in words.
	Reason reasons.Reason
	Says   string
	// ByAnnotation is true if the Annotation of the ConfigMap Ledger pauses evicting, and
	// the ConfigMap Name does not exist.
	ByAnnotation bool
	// Namespace is the namespace of the ConfigMaps Name and Ledger.
	Namespace, Name, Ledger, Annotation string
}

// Ledger is the state of the stored ledger.
type Ledger struct {
	// Stored is true if there is a stored ledger. Otherwise, if listing is allowed,
	// OtherNamespaces holds the namespaces that have a ledger or a kill switch.
	Stored          bool
	OtherNamespaces []string
	// Err is why the ledger cannot be read; nil if it can, or if there is none.
	Err error
	// Accept is the command that accepts the loss of content that is not a ledger; empty
	// if the content could not be fetched. Accepted is true if someone has run that
	// command.
	Accept   string
	Accepted bool
}

// Fence states whether the API server lets nodesync change only its own keys on nodes.
type Fence uint8

// The states of the fence.
const (
	FenceUnknown Fence = iota // not queried, or no answer
	FenceClosed
	FenceOpen
	FenceNarrow // rejects even nodesync's own keys
)

// Rights holds the API server's answers about the permissions of a process.
type Rights struct {
	// Identity is the user whose permissions were checked.
	Identity string
	Answers  []Answer
}

// Answer is the API server's answer about one Need.
type Answer struct {
	Need
	Allowed bool
	// Err is why there is no answer.
	Err error
}

// SchedulerConfig is a file with kube-scheduler's configuration.
type SchedulerConfig struct {
	// Name is the file's name as given, and Data its content.
	Name string
	Data []byte
}
