package safeguards

// Reason is why nothing is evicted, or nothing of somebody; empty for no reason.
type Reason string

// The reasons for evicting nothing at all.
const (
	// OutsideWindow: the calendar has no window open, or a blackout.
	OutsideWindow Reason = "OutsideWindow"
	// NodesNotReady: too many nodes are not ready, so it is no time to move pods.
	NodesNotReady Reason = "NodesNotReady"
	// APIErrors: eviction calls failed one after the other.
	APIErrors Reason = "APIErrors"
	// EvictionsRefused: too many of the last eviction calls were refused.
	EvictionsRefused Reason = "EvictionsRefused"
	// ReplacementsUnready: too many replacements do not become ready, or crash.
	ReplacementsUnready Reason = "ReplacementsUnready"
	// ReplacementsPending: too many replacements are without a node, or never came.
	ReplacementsPending Reason = "ReplacementsPending"
	// MovesPerHour: the hour's moves are used up.
	MovesPerHour Reason = "MovesPerHour"
)

// The reasons for evicting nothing of somebody.
const (
	// OwnerReplacementUnready: a replacement of the owner's does not become ready, or crashes.
	OwnerReplacementUnready Reason = "OwnerReplacementUnready"
	// OwnerReplacementPending: a replacement of the owner's is without a node, or never came.
	OwnerReplacementPending Reason = "OwnerReplacementPending"
	// OwnerCoolingDown: the last moves of the owner's pods did not help.
	OwnerCoolingDown Reason = "OwnerCoolingDown"
	// OwnerMovesPerHour: the owner's moves of the hour are used up.
	OwnerMovesPerHour Reason = "OwnerMovesPerHour"
	// NodeSettling: measurements of the node have to catch up with a move.
	NodeSettling Reason = "NodeSettling"
	// NamespaceMovesPerHour: the namespace's moves of the hour are used up.
	NamespaceMovesPerHour Reason = "NamespaceMovesPerHour"
	// NodePoolMovesPerHour: the node pool's moves of the hour are used up.
	NodePoolMovesPerHour Reason = "NodePoolMovesPerHour"
)

// Reasons lists every Reason, the most telling first.
func Reasons() []Reason {
	return []Reason{
		OutsideWindow, NodesNotReady, APIErrors, EvictionsRefused, ReplacementsUnready, ReplacementsPending, MovesPerHour,
		OwnerReplacementUnready, OwnerReplacementPending, OwnerCoolingDown, OwnerMovesPerHour,
		NodeSettling, NamespaceMovesPerHour, NodePoolMovesPerHour,
	}
}
