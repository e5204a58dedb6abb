// Package reasons names why something is not done: a node not judged, a pod not
// moved, an eviction not made, a cycle not run. One set serves plans, logs,
// Events, metrics, explain and JSON.
//
// A constant's name is its value, which users read and scripts match.
package reasons

// Reason is why something is not done; empty for no reason.
type Reason string

// Relieves reports whether moving a pod for this reason relieves its node,
// which is hot or will be; moves recorded by an old version have no reason.
func (r Reason) Relieves() bool {
	switch r {
	case "", NodeHot, NodeHotAhead, NodeFull:
		return true
	default:
		return false
	}
}

// Why a node's usage is not known.
const (
	NoUsageSample      Reason = "NoUsageSample"
	UsageStale         Reason = "UsageStale"
	WindowTooShort     Reason = "WindowTooShort"
	UsageFromTheFuture Reason = "UsageFromTheFuture"
	UsageAbsurd        Reason = "UsageAbsurd"
	UsageContradictory Reason = "UsageContradictory"
	UsageAmbiguous     Reason = "UsageAmbiguous"
	AllocatableUnknown Reason = "AllocatableUnknown"
	NodeNotReady       Reason = "NodeNotReady"
	NodeVirtual        Reason = "NodeVirtual"
)

// Why usage is not known well enough to evict anything.
const (
	UsageSourceUnavailable Reason = "UsageSourceUnavailable"
	NoUsageData            Reason = "NoUsageData"
	UsageCoverageTooLow    Reason = "UsageCoverageTooLow"
	UsageWindowsFilling    Reason = "UsageWindowsFilling"
)

// Why a pod is not moved, whatever else is moved.
const (
	ProtectedByDefaultEvictor   Reason = "ProtectedByDefaultEvictor"
	DaemonSetPod                Reason = "DaemonSetPod"
	MirrorPod                   Reason = "MirrorPod"
	JobPod                      Reason = "JobPod"
	NoController                Reason = "NoController"
	SchedulerNotSteered         Reason = "SchedulerNotSteered"
	OwnerRollingOut             Reason = "OwnerRollingOut"
	OwnerJustScaled             Reason = "OwnerJustScaled"
	OwnerUnknown                Reason = "OwnerUnknown"
	PodUsageUnknown             Reason = "PodUsageUnknown"
	PodStarting                 Reason = "PodStarting"
	SeveralPodDisruptionBudgets Reason = "SeveralPodDisruptionBudgets"
	PodDisruptionBudgetForbids  Reason = "PodDisruptionBudgetForbids"
	MinAvailableUnreadable      Reason = "MinAvailableUnreadable"
	NamespaceExcluded           Reason = "NamespaceExcluded"
	ResourceClaimsNotSupported  Reason = "ResourceClaimsNotSupported"
	EvictionDeclined            Reason = "EvictionDeclined"
	DisruptionDeclined          Reason = "DisruptionDeclined"
	EvictedInBackground         Reason = "EvictedInBackground"
	PodGroupMember              Reason = "PodGroupMember"
	OwnerUnreadable             Reason = "OwnerUnreadable"
	JobWouldFail                Reason = "JobWouldFail"
	ControllerUnknown           Reason = "ControllerUnknown"
	RestartPolicyNotAlways      Reason = "RestartPolicyNotAlways"
	OwnerDeleting               Reason = "OwnerDeleting"
	OwnerScaledDown             Reason = "OwnerScaledDown"
)

// Why a pod is not moved for now: too few others may be missing with it.
const (
	PodDisruptionBudgetExhausted Reason = "PodDisruptionBudgetExhausted"
	OwnerPodsUnavailable         Reason = "OwnerPodsUnavailable"
	LastReadyReplica             Reason = "LastReadyReplica"
	BelowMinAvailable            Reason = "BelowMinAvailable"
	OwnerCreatesInOrder          Reason = "OwnerCreatesInOrder"
	ResourceQuotaExhausted       Reason = "ResourceQuotaExhausted"
)

// Why a plan does not move a pod that it might.
const (
	NoLanding   Reason = "NoLanding"
	MoveLimit   Reason = "MoveLimit"
	NodeLeaving Reason = "NodeLeaving"
	// GainTooSmall also applies to nodes: only with pods that are too small would
	// enough leave.
	GainTooSmall Reason = "GainTooSmall"
	// NotWorthwhile also applies to nodes.
	NotWorthwhile Reason = "NotWorthwhile"
	// HotThroughImmovable also applies to nodes: moving every pod that may be
	// moved would leave the node above its evict line.
	HotThroughImmovable Reason = "HotThroughImmovable"
)

// Why a pod stays, according to explain, besides the planner's own reasons.
const (
	NotPlanned    Reason = "NotPlanned"
	Terminating   Reason = "Terminating"
	OnTheMove     Reason = "OnTheMove"
	NodeNotHot    Reason = "NodeNotHot"
	OthersSuffice Reason = "OthersSuffice"
)

// NodeHot is why a pod is moved.
const NodeHot Reason = "NodeHot"

// NodeHotAhead is why a pod is moved before its node is hot.
const NodeHotAhead Reason = "NodeHotAhead"

// NodeFull is why a pod is moved off a node that is asked for more CPU than it has
// to one that is asked for less.
const NodeFull Reason = "NodeFull"

// PreferredNode is why a pod is moved to a node that its preferred node affinity rates
// higher.
const PreferredNode Reason = "PreferredNode"

// Why a node does not take a pod.
const (
	NotPreferred    Reason = "NotPreferred"
	NodeNotCool     Reason = "NodeNotCool"
	NodeClosed      Reason = "NodeClosed"
	OtherDomain     Reason = "OtherDomain"
	AboveRejectLine Reason = "AboveRejectLine"
	FilterRefuses   Reason = "FilterRefuses"
)

// Why nothing at all may be evicted.
const (
	OutsideWindow       Reason = "OutsideWindow"
	NodesNotReady       Reason = "NodesNotReady"
	APIErrors           Reason = "APIErrors"
	EvictionsRefused    Reason = "EvictionsRefused"
	ReplacementsUnready Reason = "ReplacementsUnready"
	ReplacementsPending Reason = "ReplacementsPending"
	NodesDraining       Reason = "NodesDraining"
	PodsUnschedulable   Reason = "PodsUnschedulable"
	MovesPerHour        Reason = "MovesPerHour"
)

// Why nothing from one owner, node, namespace or node pool may be evicted.
const (
	OwnerReplacementUnready Reason = "OwnerReplacementUnready"
	OwnerReplacementPending Reason = "OwnerReplacementPending"
	OwnerCoolingDown        Reason = "OwnerCoolingDown"
	EvictionDenied          Reason = "EvictionDenied"
	OwnerMovesPerHour       Reason = "OwnerMovesPerHour"
	NodeSettling            Reason = "NodeSettling"
	NamespaceMovesPerHour   Reason = "NamespaceMovesPerHour"
	NodePoolMovesPerHour    Reason = "NodePoolMovesPerHour"
)

// Why a planned move is not made.
const (
	Paused                Reason = "Paused"
	PauseUnreadable       Reason = "PauseUnreadable"
	PodChanged            Reason = "PodChanged"
	MoveCancelled         Reason = "MoveCancelled"
	SourceNoLongerHot     Reason = "SourceNoLongerHot"
	SourceUsageUnknown    Reason = "SourceUsageUnknown"
	PodBusy               Reason = "PodBusy"
	LandingGone           Reason = "LandingGone"
	UsageDataInsufficient Reason = "UsageDataInsufficient"
	SteeringAbsent        Reason = "SteeringAbsent"
	NamesUnsuited         Reason = "NamesUnsuited"
	Unsteerable           Reason = "Unsteerable"
	SteeringRefused       Reason = "SteeringRefused"
	ProbeNotLanded        Reason = "ProbeNotLanded"
	PreEvictionFilter     Reason = "PreEvictionFilter"
	EvictionLimit         Reason = "EvictionLimit"
	CycleDeadline         Reason = "CycleDeadline"
	NotLeader             Reason = "NotLeader"
	LedgerUnwritable      Reason = "LedgerUnwritable"
	LedgerUnreadable      Reason = "LedgerUnreadable"
	Stopping              Reason = "Stopping"
	EvictionFailed        Reason = "EvictionFailed"
)
