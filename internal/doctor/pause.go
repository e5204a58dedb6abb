package doctor

import "fmt"

func examinePause(p *Patient) []Finding {
	if !p.Mode.evicts() {
		return nil
	}
	pause := &p.Pause
	switch {
	case pause.Err != nil:
		return []Finding{{
			Check: CheckPause, Level: Problem,
			Says: fmt.Sprintf("The kill switch cannot be read, so nothing is evicted: %v", pause.Err), Mend: "See under permissions.",
		}}
	case pause.Paused:
		return []Finding{{
			Check: CheckPause, Level: Warning, Says: fmt.Sprintf("Evicting is paused: %s.", pause.Says),
			Mend: fmt.Sprintf("To go on: kubectl -n %s annotate configmap %s evenkeel.io/paused-", pause.Namespace, pause.ConfigMap),
		}}
	}
	return []Finding{fine(CheckPause, "", "Evicting is not paused.")}
}
