package doctor

import "fmt"

// Pause is what the kill switch says.
type Pause struct {
	// Paused says that nothing is evicted, Says which annotation tells so.
	Paused bool
	Says   string
	// Err is why it could not be read, which pauses too.
	Err error
	// Namespace and ConfigMap are where it is.
	Namespace, ConfigMap string
}

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
