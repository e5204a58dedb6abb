package reasons

// lasting holds the reasons that keep a pod in place until somebody changes the pod, its
// owner or the policy.
var lasting = map[Reason]bool{
	ProtectedByDefaultEvictor: true, DaemonSetPod: true, MirrorPod: true, JobPod: true, NoController: true, SchedulerNotSteered: true,
	SeveralPodDisruptionBudgets: true, PodDisruptionBudgetForbids: true, MinAvailableUnreadable: true, NamespaceExcluded: true,
	ResourceClaimsNotSupported: true, EvictionDeclined: true, DisruptionDeclined: true, EvictedInBackground: true, PodGroupMember: true,
	OwnerUnreadable: true, ControllerUnknown: true, RestartPolicyNotAlways: true,
}

// Lasts reports whether waiting is pointless for a pod that is not moved for this reason.
func (r Reason) Lasts() bool { return lasting[r] }
