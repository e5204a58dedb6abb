package explain

import (
	"github.com/evenkeel/evenkeel/restraint"
	"github.com/evenkeel/evenkeel/strategies/realusage/plan"
)

// describe says a reason in words; empty for one that says it all.
func describe(reason plan.Reason) string {
	switch reason {
	case plan.ProtectedByDefaultEvictor:
		return "the DefaultEvictor's settings in the policy, or an annotation, protect it"
	case plan.DaemonSetPod:
		return "a DaemonSet would start it on the same node again"
	case plan.MirrorPod:
		return "the kubelet runs it from a file; it cannot be evicted"
	case plan.JobPod:
		return "it belongs to a Job, and the policy's eviction.evictJobs is off"
	case plan.Unowned:
		return "no controller would start another in its place"
	case plan.SchedulerNotSteered:
		return "its schedulerName is not among the policy's eviction.schedulerNames"
	case plan.OwnerRollingOut:
		return "its owner is being rolled out or is new"
	case plan.OwnerJustScaled:
		return "its owner was scaled a moment ago"
	case plan.OwnerUnknown:
		return "its owner is not known to the watch"
	case plan.UsageUnknown:
		return "it was not measured long enough to know what it uses"
	case plan.SeveralPDBs:
		return "several PodDisruptionBudgets select it; the API server refuses to evict such a pod"
	case plan.PDBForbids:
		return "its PodDisruptionBudget never allows an eviction"
	case plan.NamespaceExcluded:
		return "the plugin's evictableNamespaces exclude its namespace"
	case plan.ResourceClaims:
		return "it has resource claims, which are not supported here"
	case plan.NoLanding:
		return "no cool node would take it"
	case plan.MoveLimit:
		return "the plan has as many moves as the policy allows for a cycle; it waits for a later one"
	case plan.NodeLeaving:
		return "an autoscaler is about to remove the node and moves its pods itself"
	case plan.GainTooSmall:
		return "it uses less than a move has to take off its node (the policy's eviction.minGainPercent)"
	case plan.HotThroughImmovable:
		return "the node would stay above its evict line without every pod that can be moved, so none is"
	case plan.NodeNotCool:
		return "only cool nodes take moved pods"
	case plan.NodeClosed:
		return "it takes no pods"
	case plan.AboveRejectLine:
		return "its predicted usage would be above the reject line"
	case plan.FilterRefuses:
		return "a filter of kube-scheduler refuses it"
	default:
		return describeRestraint(restraint.Reason(reason))
	}
}

// describeRestraint says in words why somebody is left alone for a while.
func describeRestraint(reason restraint.Reason) string {
	switch reason {
	case restraint.OwnerReplacementUnready:
		return "another replacement of its owner does not become ready, or crashes"
	case restraint.OwnerReplacementPending:
		return "another replacement of its owner waits for a node"
	case restraint.OwnerCoolingDown:
		return "the last moves of its owner's pods did not help, so they rest for a while"
	case restraint.OwnerMovesPerHour:
		return "its owner's moves of this hour are used up"
	case restraint.NodeSettling:
		return "measurements of its node have to catch up with a move first"
	case restraint.NamespaceMovesPerHour:
		return "its namespace's moves of this hour are used up"
	case restraint.NodePoolMovesPerHour:
		return "its node pool's moves of this hour are used up"
	default:
		return ""
	}
}
