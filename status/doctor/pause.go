package doctor

import (
	"fmt"

	"github.com/evenkeel/evenkeel/reasons"
)

// examineLedger checks the stored ledger. A process that has the ledger in memory
// restores the stored one automatically within a second.
func examineLedger(p *Installation, n *notes) {
	ledger := &p.Ledger
	switch {
	case !p.Mode.Evicts():
	case ledger.Err == nil && !ledger.Stored && len(ledger.OtherNamespaces) > 0:
		n.warning("", "Namespace %s has no ledger, but another namespace has a ledger or a kill switch: %s. The findings on permissions, kill switch and ledger "+
			"do not apply to an installation there.", p.Pause.Namespace, reasons.Names(ledger.OtherNamespaces, 3)).fix("evenkeel doctor --namespace " + ledger.OtherNamespaces[0])
	case ledger.Err == nil && !ledger.Stored:
		n.ok("", "Namespace %s has no ledger: no evictions are recorded there. %s", p.Pause.Namespace, elsewhere)
	case ledger.Err == nil:
		n.ok("", "The ledger stored in namespace %s can be read.", p.Pause.Namespace)
	case ledger.Accept == "":
		n.problem("", "The ledger cannot be read from the API server, so nothing is evicted: %v", ledger.Err).fix("See under permissions.")
	case ledger.Accepted:
		n.warning("", "The stored ledger is unreadable, and its loss is accepted: the next cycle continues without it.")
	default:
		n.problem("", "%v", ledger.Err).fix("Run the version that wrote it, or restore it. To continue without its moves, holds, budgets and cooldowns,\n" +
			"which keeps a copy in a separate ConfigMap: " + ledger.Accept)
	}
}

// elsewhere is the advice for the case that the wrong namespace was examined.
const elsewhere = "If Evenkeel runs in another namespace, set it with --namespace."

func examinePause(p *Installation, n *notes) {
	pause := &p.Pause
	object := "kubectl -n " + pause.Namespace
	switch {
	case !p.Mode.Evicts():
	case pause.Reason == reasons.PauseUnreadable:
		n.problem("", "Nothing is evicted: %s.", pause.Says).fix("See under permissions.")
	case pause.ByAnnotation:
		n.warning("", "Nothing is evicted: %s. The annotation disappears if the ledger is deleted, and it will be ignored after two more versions.", pause.Says).
			fix(fmt.Sprintf("To use the kill switch instead: %s create configmap %s\nTo resume: %s annotate configmap %s %s-",
				object, pause.Name, object, pause.Ledger, pause.Annotation))
	case pause.Reason != "":
		n.warning("", "Nothing is evicted: %s.", pause.Says).
			fix(fmt.Sprintf("To resume: %s delete configmap %s   # or remove it from the GitOps source", object, pause.Name))
	default:
		n.ok("", "Evicting is not paused in namespace %s.", pause.Namespace)
	}
}
