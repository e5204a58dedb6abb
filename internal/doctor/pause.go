package doctor

import "fmt"

func examinePause(p *Patient, n *notes) {
	pause := &p.Pause
	switch {
	case !p.Mode.evicts():
	case pause.Err != nil:
		n.problem("", "The kill switch cannot be read, so nothing is evicted: %v", pause.Err).fix("See under permissions.")
	case pause.Paused:
		n.warning("", "Evicting is paused: %s.", pause.Says).
			fix(fmt.Sprintf("To go on: kubectl -n %s annotate configmap %s evenkeel.io/paused-", pause.Namespace, pause.ConfigMap))
	default:
		n.ok("", "Evicting is not paused.")
	}
}
