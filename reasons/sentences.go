package reasons

// sentences are the reasons in words. "It" is the pod, the node or the move
// that the reason is about.
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
	PodUsageUnknown:             "it was not measured long enough to know what it uses",
	SeveralPodDisruptionBudgets: "several PodDisruptionBudgets select it; the API server refuses to evict such a pod",
	PodDisruptionBudgetForbids:  "its PodDisruptionBudget never allows an eviction",
	NamespaceExcluded:           "the plugin's evictableNamespaces exclude its namespace",
	ResourceClaimsNotSupported:  "it has resource claims, which are not supported here",

	NoLanding:           "no cool node would take it",
	MoveLimit:           "the plan has as many moves as the policy allows for a cycle; it waits for a later one",
	NodeLeaving:         "an autoscaler is about to remove the node and moves its pods itself",
	GainTooSmall:        "it uses less than a move has to take off its node (the policy's eviction.minGainPercent)",
	HotThroughImmovable: "the node would stay above its evict line without every pod that can be moved, so none is",

	NotPlanned:    "there is no plan that it could be part of",
	Terminating:   "it is terminating already",
	OnTheMove:     "it was evicted or is about to be",
	NodeNotHot:    "its node is not hot",
	OthersSuffice: "the fewest and least disruptive moves that cool its node are others",

	NodeHot: "its node is hot",

	NodeNotCool:     "only cool nodes take moved pods",
	NodeClosed:      "it takes no pods",
	AboveRejectLine: "its predicted usage would be above the reject line",
	FilterRefuses:   "a filter of kube-scheduler refuses it",

	OutsideWindow:       "the policy's calendar allows no evictions now",
	NodesNotReady:       "too many nodes are not ready",
	APIErrors:           "eviction calls failed one after the other",
	EvictionsRefused:    "too many of the last eviction calls were refused",
	ReplacementsUnready: "too many replacements do not become ready, or crash",
	ReplacementsPending: "too many replacements wait for a node, or never came",
	MovesPerHour:        "the moves of this hour are used up",

	OwnerReplacementUnready: "another replacement of its owner does not become ready, or crashes",
	OwnerReplacementPending: "another replacement of its owner waits for a node",
	OwnerCoolingDown:        "the last moves of its owner's pods did not help, so they rest for a while",
	OwnerMovesPerHour:       "its owner's moves of this hour are used up",
	NodeSettling:            "measurements of its node have to catch up with a move first",
	NamespaceMovesPerHour:   "its namespace's moves of this hour are used up",
	NodePoolMovesPerHour:    "its node pool's moves of this hour are used up",

	Paused:                "evictions are paused by an annotation",
	PauseUnreadable:       "the pause annotation could not be read, so evictions count as paused",
	PodChanged:            "the pod is gone, is terminating or was replaced under its name",
	MoveCancelled:         "its owner wants fewer pods, or its time is over",
	LastReadyReplica:      "its owner wants several pods, and no other one is ready",
	SourceNoLongerHot:     "its node is below its evict line by now",
	SourceUsageUnknown:    "the usage of its node is no longer known",
	LandingGone:           "its destination takes no pods any more, or would not stay below its reject line",
	UsageDataInsufficient: "usage is not known well enough to evict any more",
	SteeringAbsent:        "a replacement was bound without the extender having been asked",
	ProbeNotLanded:        "the first replacement was not bound in time",
	PreEvictionFilter:     "a pre-eviction filter of the DeschedulerPolicy refuses it",
	EvictionLimit:         "a limit of the DeschedulerPolicy is used up",
	CycleDeadline:         "the cycle ended before its PodDisruptionBudget or its owner's pods in flight allowed it",
	NotLeader:             "another process evicts by now, or may",
	LedgerUnwritable:      "the move could not be stored in the ledger",
	SurgeFailed:           "it asks for a surge, and its Deployment may not be scaled or its second pod did not become ready (docs/surge.md)",
	Stopping:              "the process was told to stop",
	EvictionFailed:        "the API server refused the eviction or could not be reached",
}

// Sentence says a reason in words that follow "because"; empty where there are
// none.
func (r Reason) Sentence() string { return sentences[r] }
