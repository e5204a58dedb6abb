package safeguards

import "github.com/evenkeel/evenkeel/reasons"

// Reasons lists every Reason, the most telling first.
func Reasons() []reasons.Reason {
	return []reasons.Reason{
		reasons.OutsideWindow, reasons.NodesNotReady, reasons.APIErrors, reasons.EvictionsRefused, reasons.ReplacementsUnready, reasons.ReplacementsPending, reasons.MovesPerHour,
		reasons.OwnerReplacementUnready, reasons.OwnerReplacementPending, reasons.OwnerCoolingDown, reasons.OwnerMovesPerHour,
		reasons.NodeSettling, reasons.NamespaceMovesPerHour, reasons.NodePoolMovesPerHour,
	}
}
