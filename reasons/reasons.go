// Package reasons names the reasons why something is not done: a node is not judged, a
// pod is not moved, an eviction is not made, a cycle is not run. Plans, logs, Events,
// metrics, explain and JSON all use this one set.
//
// A constant's name is also its value, which users read and scripts match. When you add
// one, add its sentence to the table below the constants.
package reasons

// Reason is why something is not done; empty if there is no reason.
type Reason string

// Relieves reports whether a pod that is moved for this reason leaves a node that is hot
// or is going to be. It is also true for the empty reason, because old versions recorded
// moves without one.
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

// Why a pod is not moved, regardless of other moves.
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

// Why a pod is not moved for now, because too few pods may be missing at the
// same time.
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
	// GainTooSmall also applies to nodes that could be relieved enough only by moving pods
	// that are too small to be worth moving.
	GainTooSmall Reason = "GainTooSmall"
	// NotWorthwhile also applies to nodes.
	NotWorthwhile Reason = "NotWorthwhile"
	MovedLately   Reason = "MovedLately"
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

// NodeFull is why a pod is moved off a node whose pods demand more CPU than it
// has to a node with less demand.
const NodeFull Reason = "NodeFull"

// PreferredNode is why a pod is moved to a node that its preferred node affinity rates
// higher.
const PreferredNode Reason = "PreferredNode"

// AskedByPlugin is why a pod is moved when a descheduler plugin asks to evict
// it.
const AskedByPlugin Reason = "AskedByPlugin"

// Why a pod stays although a descheduler plugin asks to evict it.
const (
	WouldComeBack Reason = "WouldComeBack"
	NoBetterPlace Reason = "NoBetterPlace"
	JustMoved     Reason = "JustMoved"
	NotAsked      Reason = "NotAsked"
)

// Why a node does not take a pod.
const (
	NotPreferred     Reason = "NotPreferred"
	NodeNotCool      Reason = "NodeNotCool"
	NodeClosed       Reason = "NodeClosed"
	NodeJustRelieved Reason = "NodeJustRelieved"
	OtherDomain      Reason = "OtherDomain"
	AboveRejectLine  Reason = "AboveRejectLine"
	FilterRefuses    Reason = "FilterRefuses"
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

// sentences explains each reason. "It" refers to the pod, node or move concerned.
var sentences = map[Reason]string{
	NoUsageSample:      "no usage source has reported it",
	UsageStale:         "its newest usage is too old",
	WindowTooShort:     "its usage has not been watched for long enough",
	UsageFromTheFuture: "its usage is stamped with a time in the future",
	UsageAbsurd:        "its reported usage is impossible",
	UsageContradictory: "its reported usage contradicts itself",
	UsageAmbiguous:     "a usage source reported it twice, with different usage",
	AllocatableUnknown: "the node does not report what it can allocate",
	NodeNotReady:       "the node is not ready",
	NodeVirtual:        "the node is virtual: no usage source measures what runs behind it",

	UsageSourceUnavailable: "no usage source could be read",
	NoUsageData:            "the usage sources answer, but report no ready node",
	UsageCoverageTooLow:    "too few ready nodes have fresh, plausible usage",
	UsageWindowsFilling:    "usage has not been watched for long enough yet",

	ProtectedByDefaultEvictor:   "the DefaultEvictor's settings in the policy, or an annotation, protect it",
	DaemonSetPod:                "a DaemonSet would start it on the same node again",
	MirrorPod:                   "the kubelet runs it from a file; it cannot be evicted",
	JobPod:                      "it belongs to a Job, and the policy's eviction.evictJobs is off",
	NoController:                "no controller would start another in its place",
	SchedulerNotSteered:         "its schedulerName is not among the policy's eviction.schedulerNames",
	OwnerRollingOut:             "its owner is being rolled out or is new",
	OwnerJustScaled:             "its owner was scaled a moment ago",
	OwnerUnknown:                "its owner is not known to the watch",
	PodUsageUnknown:             "it has not been measured for long enough to know what it uses",
	PodStarting:                 "one of its containers started too recently to tell what it will use",
	SeveralPodDisruptionBudgets: "several PodDisruptionBudgets select it; the API server refuses to evict such a pod",
	PodDisruptionBudgetForbids:  "its PodDisruptionBudget never allows an eviction",
	MinAvailableUnreadable:      "its annotation evenkeel.io/min-available, or its owner's, is neither a number of pods nor a percentage",
	NamespaceExcluded:           "the plugin's evictableNamespaces exclude its namespace",
	ResourceClaimsNotSupported:  "it has resource claims, which are not supported here",
	EvictionDeclined:            "an annotation of the pod, its owner or its Namespace forbids evicting it",
	DisruptionDeclined:          "it tells autoscalers to leave it alone, by safe-to-evict or do-not-disrupt",
	EvictedInBackground:         "evicting it only starts a background operation that moves it later",
	PodGroupMember:              "it belongs to a group of pods that work only together",
	ControllerUnknown:           "its controller is not known to start another in its place (the policy's eviction.recreatingControllers)",
	OwnerUnreadable:             "its owner's kind cannot be listed, so annotations on it are unknown; doctor says which right is missing",
	JobWouldFail:                "one more failure would fail its Job for good, or its deadline leaves another pod too little time",
	RestartPolicyNotAlways:      "its restartPolicy is not Always, so it is meant to run once",
	OwnerDeleting:               "its owner is being deleted",
	OwnerScaledDown:             "its owner wants fewer pods than there are, so it would not be replaced",

	PodDisruptionBudgetExhausted: "its PodDisruptionBudget allows no eviction at the moment",
	OwnerPodsUnavailable:         "its owner already has the maximum number of pods that are not ready, pending or terminating",
	LastReadyReplica:             "its owner has several pods, and no other one is ready at the moment",
	ResourceQuotaExhausted:       "a ResourceQuota of its namespace has no room for its replacement while it still counts",
	BelowMinAvailable:            "without it, fewer pods of its owner would be available than the annotation evenkeel.io/min-available requires",
	OwnerCreatesInOrder:          "its StatefulSet creates pods in order, and another of its pods would have to become available first",

	NoLanding:           "no cool node would take it",
	MoveLimit:           "the plan already has as many moves as the policy allows in a cycle; this pod waits for a later one",
	NodeLeaving:         "an autoscaler is about to remove the node and moves its pods itself",
	GainTooSmall:        "it uses less than a move must relieve its node of, and is one of the smaller pods there",
	NotWorthwhile:       "the moves that would cool its node would save too little hot time for the disruption they cause (the policy's eviction.minHotTimeSaved)",
	MovedLately:         "a move brought it to its node within the last day, so it stays there",
	HotThroughImmovable: "moving every movable pod would not bring the node below its evict line",

	NotPlanned:    "there is no plan that could include it",
	Terminating:   "it is already terminating",
	OnTheMove:     "it was evicted or is about to be",
	NodeNotHot:    "its node is not hot",
	OthersSuffice: "fewer or less disruptive moves cool its node",

	NodeHot:      "its node is hot",
	NodeFull:     "its node has more demand for CPU than capacity, the cool nodes cannot take enough of the node's pods to cool it, and its destination has less demand",
	NodeHotAhead: "its node is expected to be hot again at a time at which it has been hot before",

	PreferredNode: "its preferred node affinity rates its destination higher, which is cool and has room",

	AskedByPlugin: "a descheduler plugin asks for it, and its destination is a better place by that plugin's own rules",

	WouldComeBack: "kube-scheduler would put its replacement on the same node again",
	NoBetterPlace: "the plugin would ask for as many evictions again once its replacement runs elsewhere",
	NotAsked:      "the plugin does not ask to evict it",
	JustMoved:     "a move brought it to its node a short time ago (the policy's eviction.cooldown)",

	NotPreferred:     "its preferred node affinity does not rate it higher than the node that it is on",
	NodeNotCool:      "it is not cool; such nodes only take pods from full nodes",
	NodeClosed:       "it takes no pods",
	NodeJustRelieved: "pods were moved off it within the last day because it was hot, so only pods of other hot nodes are moved to it",
	OtherDomain:      "it is in another zone or of another capacity type, and the policy does not move pods there",
	AboveRejectLine:  "its predicted usage would be above the reject line",
	FilterRefuses:    "a filter of kube-scheduler refuses it",

	OutsideWindow:       "the policy's calendar allows no evictions now",
	NodesNotReady:       "too many nodes are not ready",
	APIErrors:           "several eviction calls failed in a row",
	EvictionsRefused:    "too many of the last eviction calls were refused",
	ReplacementsUnready: "too many replacements do not become ready, or crash",
	ReplacementsPending: "too many replacements wait for a node, or never came",
	NodesDraining:       "many nodes are being drained or replaced; evicting pauses for a while",
	PodsUnschedulable:   "many new pods of several namespaces wait for a node; evicting pauses for a while",
	MovesPerHour:        "all moves for this hour are used up",

	OwnerReplacementUnready: "another replacement of its owner does not become ready, or crashes",
	OwnerReplacementPending: "another replacement of its owner waits for a node",
	OwnerCoolingDown:        "the last moves of its owner's pods did not help, so they rest for a while",
	EvictionDenied:          "an admission webhook or policy of the cluster denied an eviction of its owner's pods, or a webhook could not be called",
	OwnerMovesPerHour:       "its owner has used up its moves for this hour",
	NodeSettling:            "measurements of its node have to catch up with a move first",
	NamespaceMovesPerHour:   "its namespace has used up its moves for this hour",
	NodePoolMovesPerHour:    "its node pool has used up its moves for this hour",

	Paused:                "evicting is paused by the kill switch (ConfigMap evenkeel-pause)",
	PauseUnreadable:       "the kill switch could not be read, so evicting counts as paused",
	PodChanged:            "the pod is gone, is terminating or was replaced by another one of the same name",
	MoveCancelled:         "its owner wants fewer pods, or the move has taken too long",
	SourceNoLongerHot:     "its node is now below its evict line",
	SourceUsageUnknown:    "the usage of its node is no longer known",
	PodBusy:               "it is now busy: a pod is moved ahead of time only while it uses no more than its mean",
	LandingGone:           "its destination no longer takes pods, is full by requests, or would not stay below its reject line",
	UsageDataInsufficient: "usage is no longer known well enough to evict",
	SteeringAbsent:        "kube-scheduler bound a replacement without asking the extender, and the API server is not known to steer",
	Unsteerable:           "its replacement cannot be steered, because its template names a node, has scheduling gates or a copy of evenkeel.io/steered, or because the last one was created with a node",
	NamesUnsuited:         "its replacement can be steered by names of nodes only, which would change what its topology spread counts or let it preempt pods",
	SteeringRefused:       "the API server accepts no key for it: its namespace is being deleted, or a quota, a policy or a webhook refuses Steerings there",
	ProbeNotLanded:        "the first replacement was not bound in time",
	PreEvictionFilter:     "a pre-eviction filter of the DeschedulerPolicy refuses it",
	EvictionLimit:         "a limit of the DeschedulerPolicy is used up",
	CycleDeadline:         "the cycle ended before its PodDisruptionBudget or the other pods of its owner allowed it",
	NotLeader:             "another process is evicting, or might be",
	LedgerUnreadable:      "the stored ledger cannot be read, and nobody has accepted its loss",
	LedgerUnwritable:      "the move could not be stored in the ledger",
	Stopping:              "the process is stopping",
	EvictionFailed:        "the API server refused the eviction or could not be reached",
}

// ofNodes explains the reasons why a hot node is not cooled. "It" refers to the node.
var ofNodes = map[Reason]string{
	NoLanding:             "the cool nodes do not take enough of its pods",
	HotThroughImmovable:   "moving every pod that may be moved would not bring it below its evict line",
	GainTooSmall:          "it could get below its evict line only by also moving pods that each use too little",
	NotWorthwhile:         "moving pods would save too little hot time for the disruption it causes (the policy's eviction.minHotTimeSaved)",
	MoveLimit:             "the plan has as many moves as a cycle may make; the rest wait for a later one",
	OwnerMovesPerHour:     "a pod's owner has used up its moves for this hour; the rest wait for a later cycle",
	NamespaceMovesPerHour: "a namespace has used up its moves for this hour; the rest wait for a later cycle",
}

// Sentence returns a clause that may follow "because"; empty if there is none.
func (r Reason) Sentence() string { return sentences[r] }

// SentenceOfNode is like Sentence, for a node that is not cooled.
func (r Reason) SentenceOfNode() string {
	if words := ofNodes[r]; words != "" {
		return words
	}
	return sentences[r]
}
