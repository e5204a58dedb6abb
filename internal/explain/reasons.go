package explain

import (
	"github.com/evenkeel/evenkeel/safeguards"
	"github.com/evenkeel/evenkeel/strategies/realusage/plan"
)

// said are the reasons in words.
var said = map[plan.Reason]string{
	plan.ProtectedByDefaultEvictor: "the DefaultEvictor's settings in the policy, or an annotation, protect it",
	plan.DaemonSetPod:              "a DaemonSet would start it on the same node again",
	plan.MirrorPod:                 "the kubelet runs it from a file; it cannot be evicted",
	plan.JobPod:                    "it belongs to a Job, and the policy's eviction.evictJobs is off",
	plan.Unowned:                   "no controller would start another in its place",
	plan.SchedulerNotSteered:       "its schedulerName is not among the policy's eviction.schedulerNames",
	plan.OwnerRollingOut:           "its owner is being rolled out or is new",
	plan.OwnerJustScaled:           "its owner was scaled a moment ago",
	plan.OwnerUnknown:              "its owner is not known to the watch",
	plan.LastReadyReplica:          "its owner wants several pods, and no other one is ready",
	plan.UsageUnknown:              "it was not measured long enough to know what it uses",
	plan.SeveralPDBs:               "several PodDisruptionBudgets select it; the API server refuses to evict such a pod",
	plan.PDBForbids:                "its PodDisruptionBudget never allows an eviction",
	plan.NamespaceExcluded:         "the plugin's evictableNamespaces exclude its namespace",
	plan.ResourceClaims:            "it has resource claims, which are not supported here",
	plan.NoLanding:                 "no cool node would take it",
	plan.MoveLimit:                 "the plan has as many moves as the policy allows for a cycle; it waits for a later one",
	plan.NodeLeaving:               "an autoscaler is about to remove the node and moves its pods itself",
	plan.GainTooSmall:              "it uses less than a move has to take off its node (the policy's eviction.minGainPercent)",
	plan.HotThroughImmovable:       "the node would stay above its evict line without every pod that can be moved, so none is",
	plan.NodeNotCool:               "only cool nodes take moved pods",
	plan.NodeClosed:                "it takes no pods",
	plan.AboveRejectLine:           "its predicted usage would be above the reject line",
	plan.FilterRefuses:             "a filter of kube-scheduler refuses it",

	"SurgeFailed": "it asks for a surge, and its Deployment may not be scaled (docs/surge.md)",

	plan.Reason(safeguards.OwnerReplacementUnready): "another replacement of its owner does not become ready, or crashes",
	plan.Reason(safeguards.OwnerReplacementPending): "another replacement of its owner waits for a node",
	plan.Reason(safeguards.OwnerCoolingDown):        "the last moves of its owner's pods did not help, so they rest for a while",
	plan.Reason(safeguards.OwnerMovesPerHour):       "its owner's moves of this hour are used up",
	plan.Reason(safeguards.NodeSettling):            "measurements of its node have to catch up with a move first",
	plan.Reason(safeguards.NamespaceMovesPerHour):   "its namespace's moves of this hour are used up",
	plan.Reason(safeguards.NodePoolMovesPerHour):    "its node pool's moves of this hour are used up",
}

// describe says a reason in words; empty for one that nobody has put in words.
func describe(reason plan.Reason) string { return said[reason] }
