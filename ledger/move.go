package ledger

import (
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// MaxAttempts is the number of attempts at steering a replacement before it is scheduled
// like any other pod. Requests within retryAfter are one attempt, because a pod that
// could not be scheduled waits at least that long in kube-scheduler's queue
// (podInitialBackoffSeconds).
const (
	MaxAttempts = 2
	retryAfter  = time.Second
)

// State is the progress of a move.
type State string

// The states of a move. Intended, Evicted and Booked are in flight.
const (
	// Intended means that the move is recorded. The eviction has not been
	// called yet, or its result is unknown.
	Intended State = "Intended"
	// Evicted means that the pod is leaving its node, and no replacement has a
	// node yet.
	Evicted State = "Evicted"
	// Booked means that kube-scheduler asked about the replacement and was
	// given a node.
	Booked State = "Booked"
	// Landed means that the replacement is bound to a node.
	Landed State = "Landed"
	// Cancelled means that the eviction was refused, failed or was never
	// called, or that the owner wants no replacement.
	Cancelled State = "Cancelled"
	// Expired means that no replacement was seen in time.
	Expired State = "Expired"
)

// Pod holds the fields that the ledger needs of a pod that is being scheduled or bound.
type Pod struct {
	UID, Namespace, Name, OwnerUID, OwnerKind, TemplateHash string
	// Created is when the API server created it; zero if unknown.
	Created time.Time
	// Scheduled is true if a scheduler bound the pod or, for a pod that was created with
	// a node, if its kubelet has accepted it.
	Scheduled bool
}

// rank orders states by progress; 0 means that the state is invalid.
func (s State) rank() int {
	switch s {
	case Intended:
		return 1
	case Evicted:
		return 2
	case Booked:
		return 3
	case Landed, Cancelled, Expired:
		return 4
	}
	return 0
}

// InFlight reports whether a move in this state holds a reservation.
func (s State) InFlight() bool { return s.rank() >= 1 && s.rank() <= 3 }

// Intent describes a move before it is made.
type Intent struct {
	Namespace string `json:"namespace"`
	Pod       string `json:"pod"`
	// PodUID identifies the move, because a pod is moved only once.
	PodUID       string        `json:"podUID"`
	Owner        cluster.Owner `json:"owner"`
	TemplateHash string        `json:"templateHash,omitempty"`
	// Usage is the pod's measured usage. Its replacement is expected to use as much. Zero
	// means unknown.
	Usage cluster.Amounts `json:"usage"`
	From  string          `json:"from"`
	// Pool is the node pool of From; empty for nodes in none.
	Pool string `json:"pool,omitempty"`
	// FromUsed is From's measured usage when the move was planned; zero means
	// unknown.
	FromUsed cluster.Amounts `json:"fromUsed"`
	// To is the planned destination; empty for an eviction by a plugin that does not plan
	// destinations.
	To string `json:"to,omitempty"`
	// Plugin is the descheduler plugin that asked for the move; empty if a strategy did,
	// or if no destination is planned for the plugin.
	Plugin string `json:"plugin,omitempty"`
	// Relieves is true if the pod is moved because From was hot or was expected to become hot. It is false if the move
	// was recorded by a version without this field.
	Relieves bool `json:"relieves,omitempty"`
	// CeilingMilliCores is the predicted CPU up to which To accepts the pod, in
	// place of its reject line; 0 uses that line.
	CeilingMilliCores int64 `json:"ceilingMilliCores,omitempty"`
	// Wait is how long after the move was recorded the eviction may still be requested.
	Wait time.Duration `json:"wait"`
	// TTL is how long the move may stay in flight after its eviction: the pod's
	// grace period plus a margin.
	TTL time.Duration `json:"ttl"`
	// Margin is how long the move may stay in flight after its pod has gone,
	// within the TTL; zero if the move was recorded by a version without this
	// field.
	Margin time.Duration `json:"margin,omitempty"`
	// Unready is true if the pod is not ready or crashes. An unready or crashing
	// replacement is then not held against the move.
	Unready bool `json:"unready,omitempty"`
	// Decision is why the pod is moved; nil if the move was recorded by a version
	// without this field.
	Decision *Decision `json:"decision,omitempty"`
}

// Workload returns the kind and name of the workload that the pod belongs to: its
// controller or, for a ReplicaSet that is named after its pods' template, the Deployment
// behind it. Both are empty for a pod without a controller.
func (i *Intent) Workload() (kind, name string) {
	if deployment, ok := strings.CutSuffix(i.Owner.Name, "-"+i.TemplateHash); ok && i.Owner.Kind == "ReplicaSet" && i.TemplateHash != "" && deployment != "" {
		return "Deployment", deployment
	}
	return i.Owner.Kind, i.Owner.Name
}

// CeilingOn returns CeilingMilliCores for the planned destination, and 0 for
// any other node.
func (i *Intent) CeilingOn(node string) int64 {
	if node != i.To {
		return 0
	}
	return i.CeilingMilliCores
}

// Decision records why a move is made, for later inspection. No decision is
// based on it. A Decision is never changed, only replaced.
type Decision struct {
	// Plugin is the strategy or the descheduler plugin that asked for the move; empty if
	// the move was recorded by a version without this field.
	Plugin string `json:"plugin,omitempty"`
	// Message is the reason in one sentence of at most MaxMessage bytes.
	Message string `json:"message,omitempty"`
	// Exceeded lists the evict lines that the source exceeded, at most maxExceeded of
	// them. It is empty for an eviction without a planned destination.
	Exceeded []Exceeded `json:"exceeded,omitempty"`
	// HotMinutesSaved is the number of minutes by which the move is expected to shorten
	// hot time within the next WithinMinutes; 0 if it was not computed.
	HotMinutesSaved float64 `json:"hotMinutesSaved,omitempty"`
	WithinMinutes   float64 `json:"withinMinutes,omitempty"`
	// Policy identifies the policy file, and Cycle the cycle.
	Policy string `json:"policy,omitempty"`
	Cycle  string `json:"cycle,omitempty"`
}

// Exceeded is an evict line and the measured value over its window, both in the units of
// the policy.
type Exceeded struct {
	Metric string  `json:"metric"`
	Window string  `json:"window"`
	Value  float64 `json:"value"`
	Line   float64 `json:"line"`
	// Below is true if lower values are worse, and Percent if the values are percentages.
	Below   bool `json:"below,omitempty"`
	Percent bool `json:"percent,omitempty"`
}

const (
	// MaxMessage bounds the message of a Decision, because an Event does not accept
	// longer messages.
	MaxMessage = 1024
	// maxExceeded bounds the number of lines in a Decision.
	maxExceeded = 8
)

// Bound returns the Decision, shortened to the size that the ledger keeps.
func (d Decision) Bound() *Decision {
	d.Message = strings.ToValidUTF8(d.Message[:min(len(d.Message), MaxMessage)], "")
	d.Exceeded = d.Exceeded[:min(len(d.Exceeded), maxExceeded)]
	return &d
}

// Move is an Intent and its progress. Times follow the API server's clock, as far as this
// process knows it.
type Move struct {
	Intent `json:",inline"`
	State  State `json:"state"`
	// Node is where usage is reserved or, once Landed, where the replacement is
	// bound.
	Node string `json:"node,omitempty"`
	// Replacement is the UID of the pod that replaces the moved one, and ReplacementName
	// its name. Both are empty until it is seen.
	Replacement     string `json:"replacement,omitempty"`
	ReplacementName string `json:"replacementName,omitempty"`
	// Asked is true if kube-scheduler asked this process where the replacement may go.
	// Attempts is the number of times that it got an answer.
	Asked    bool `json:"asked,omitempty"`
	Attempts int  `json:"attempts,omitempty"`
	// Recorded is when the intent was entered. Evicted is when its pod began to leave,
	// PodGone when the pod was seen to have ended, and Ended when the move landed, was
	// cancelled or expired; each is zero until then.
	Recorded time.Time `json:"recorded"`
	Evicted  time.Time `json:"evicted,omitzero"`
	PodGone  time.Time `json:"podGone,omitzero"`
	Ended    time.Time `json:"ended,omitzero"`
	// Accepted is true if the API server accepted the eviction, or may have done so. If
	// it is false, the pod may have left for another reason while its move was planned.
	Accepted bool `json:"accepted,omitempty"`
	// CameBound is true if the replacement was created with a node, so that no scheduler
	// chose one. It is false if a gap in the watch hides how the replacement arrived.
	CameBound bool `json:"cameBound,omitempty"`
	// Unsteered is the reason why the replacement is held against its owner or
	// namespace, for example because it was not steered or did not land in
	// time.
	Unsteered string `json:"unsteered,omitempty"`
	// Finished is true if the pod had failed or succeeded before it was evicted. Its
	// owner has replaced it long ago, or never will, so no replacement is expected.
	Finished bool `json:"finished,omitempty"`
	// Denied is the message with which admission control denied the eviction of
	// a cancelled move; empty if it did not deny it.
	Denied string `json:"denied,omitempty"`
	// Outcome is the result of a landed move; nil until it is judged.
	Outcome *Outcome `json:"outcome,omitempty"`
	// Saved is the hot time that a landed move has saved so far; nil if it was not
	// observed. A Saved is never changed, only replaced.
	Saved *Saved `json:"saved,omitempty"`
	// Surge records that an earlier version scaled up a Deployment so that the
	// replacement would exist before the pod left. This version only reports it.
	Surge *Surge `json:"surge,omitempty"`

	// gone is true if the watch has reported that the pod is leaving. Only that
	// report opens a move, because all processes receive such reports in the
	// same order.
	gone bool
	// left is the ledger's count of reports at that report.
	left int64
	// late is true if this process may have missed how the pod left and its
	// replacement arrived.
	late bool
	// answered is when the latest attempt began.
	answered time.Time
}

// InFlight reports whether the move still holds a reservation.
func (m *Move) InFlight() bool { return m.State.InFlight() }

// Expires returns when the move is given up. A pod that has ended no longer needs the
// rest of its grace period.
func (m *Move) Expires() time.Time {
	if m.Evicted.IsZero() {
		return m.Recorded.Add(m.Wait + m.TTL)
	}
	expires := m.Evicted.Add(m.TTL)
	if early := m.PodGone.Add(m.Margin); !m.PodGone.IsZero() && m.Margin > 0 && early.Before(expires) {
		return early
	}
	return expires
}

// expired reports whether the move is to be given up. A move whose time lies in the future, because a clock was wrong,
// is given up at once; otherwise it would hold its reservation until that time.
func (m *Move) expired(now time.Time) bool {
	since := m.Recorded
	if !m.Evicted.IsZero() {
		since = m.Evicted
	}
	return now.After(m.Expires()) || !Known(since, now)
}

// Due reports whether the move's replacement is still to come because its pod is leaving
// or has left. The means of steering the replacement must be kept for as long as Due
// returns true.
func (m *Move) Due(now time.Time) bool {
	return m.InFlight() && m.Replacement == "" && !m.Evicted.IsZero() && !m.expired(now)
}

// open reports whether a pod created now may be the move's replacement, because
// the moved pod is leaving.
func (m *Move) open() bool {
	return m.Replacement == "" && m.InFlight() && m.gone && m.State != Intended
}

// awaits reports whether the replacement of a move, which may be nil, is still
// to be steered.
func (m *Move) awaits(now time.Time) bool {
	return m != nil && m.Attempts < MaxAttempts && !m.expired(now)
}

// idle reports whether the move was cancelled without effect: no running pod
// was evicted, and admission control denied nothing.
func (m *Move) idle() bool {
	return m.State == Cancelled && (m.Evicted.IsZero() || m.Finished) && m.Denied == ""
}

// measured reports whether the pod's usage is known. No pod uses exactly
// nothing.
func (m *Move) measured() bool { return m.Usage != cluster.Amounts{} }

// takes reports whether a pod may be this move's replacement: it has the same
// owner and template and, for a StatefulSet, the same name. The namespace must
// match, too, because anyone who may create pods in another namespace can name
// any owner.
func (m *Move) takes(pod *Pod) bool { return m.open() && m.mayTake(pod) }

// mayTake is like takes, but does not require the move to be open, because a
// pod may be bound after the move opens.
func (m *Move) mayTake(pod *Pod) bool {
	if m.Replacement != "" || pod.OwnerUID == "" || m.Owner.UID != pod.OwnerUID || m.Namespace != pod.Namespace {
		return false
	}
	if m.TemplateHash != pod.TemplateHash || m.PodUID == pod.UID {
		return false
	}
	if !pod.Created.IsZero() && pod.Created.Before(m.Recorded.Add(-clockSlack)) {
		return false
	}
	return !m.keepsName() || m.Pod == pod.Name
}

// keepsName reports whether the move's replacement has the name of its pod.
func (m *Move) keepsName() bool { return m.Owner.Kind == "StatefulSet" }

// ScaledUp returns the Deployment that an earlier version scaled up for the move and may
// not have scaled back, and its previous number of replicas; empty if there is none.
func (m *Move) ScaledUp() (deployment string, replicas int32) {
	if m.Surge == nil || m.Surge.Done {
		return "", 0
	}
	return m.Surge.Deployment, m.Surge.Replicas
}

// vacate clears a move's replacement.
func (m *Move) vacate() {
	m.Replacement, m.ReplacementName, m.Attempts, m.answered = "", "", 0, time.Time{}
}

// take assigns a replacement to a move.
func (m *Move) take(pod *Pod) {
	m.vacate()
	m.Replacement, m.ReplacementName = pod.UID, pod.Name
}

// clockSlack is how far two clocks may disagree. The API server's times are in whole
// seconds, and a process knows its own skew to within about two seconds.
const clockSlack = 3 * time.Second

// Surge records that a Deployment was scaled up by one for a move.
type Surge struct {
	// Deployment is the name of a Deployment in the namespace of the move.
	Deployment string `json:"deployment"`
	// Replicas is the Deployment's number of replicas before.
	Replicas int32 `json:"replicas"`
	// Done is true if the Deployment was scaled back.
	Done bool `json:"done,omitempty"`
}

// Saved holds the minutes of hot time that a move has saved, and the minutes for which
// this was observed.
type Saved struct {
	HotMinutes float64 `json:"hotMinutes"`
	Watched    float64 `json:"watchedMinutes"`
}

// longer reports whether s was observed for longer than another Saved.
func (s *Saved) longer(than *Saved) bool {
	return s != nil && (than == nil || s.Watched > than.Watched)
}

// Outcome is the result of a landed move, judged some time later.
type Outcome struct {
	Judged time.Time `json:"judged"`
	// Planned is true if the replacement is on the planned node.
	Planned bool `json:"planned"`
	// SourceCooler is true if the source uses less than when the move was
	// planned, or is no longer hot.
	SourceCooler bool `json:"sourceCooler"`
	// DestinationUnder is true if the replacement's node is not above its evict lines. If
	// the move has a ceiling on that node, the ceiling replaces the node's CPU evict
	// line.
	DestinationUnder bool `json:"destinationUnder"`
	// Healthy is true if the replacement is ready and has not restarted.
	Healthy bool `json:"healthy"`
}

// Helped reports whether the move was worth its eviction.
func (o *Outcome) Helped() bool { return o.SourceCooler && o.DestinationUnder && o.Healthy }
