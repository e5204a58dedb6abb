package explain

import (
	"testing"

	"github.com/evenkeel/evenkeel/safeguards"
	"github.com/evenkeel/evenkeel/strategies/realusage/plan"
)

// Every reason to leave a pod alone is said in words; one that nobody has heard of stands for itself.
func TestReasonsAreDescribed(t *testing.T) {
	reasons := []plan.Reason{
		plan.ProtectedByDefaultEvictor, plan.DaemonSetPod, plan.MirrorPod, plan.JobPod, plan.Unowned, plan.SchedulerNotSteered,
		plan.OwnerRollingOut, plan.OwnerJustScaled, plan.OwnerUnknown, plan.LastReadyReplica, plan.UsageUnknown, plan.SeveralPDBs, plan.PDBForbids,
		plan.NamespaceExcluded, plan.ResourceClaims, plan.NoLanding, plan.MoveLimit, plan.NodeLeaving, plan.GainTooSmall,
		plan.HotThroughImmovable, plan.NodeNotCool, plan.NodeClosed, plan.AboveRejectLine, plan.FilterRefuses,
		plan.Reason(safeguards.OwnerReplacementUnready), plan.Reason(safeguards.OwnerReplacementPending), plan.Reason(safeguards.OwnerCoolingDown),
		plan.Reason(safeguards.OwnerMovesPerHour), plan.Reason(safeguards.NodeSettling), plan.Reason(safeguards.NamespaceMovesPerHour),
		plan.Reason(safeguards.NodePoolMovesPerHour),
	}
	said := map[string]plan.Reason{}
	for _, reason := range reasons {
		words := describe(reason)
		if words == "" || said[words] != "" {
			t.Errorf("%s is described as %q, like %q", reason, words, said[words])
		}
		said[words] = reason
	}
	if got := because("NewToUs", ""); got != "NewToUs" {
		t.Errorf("an unknown reason is told as %q", got)
	}
}
