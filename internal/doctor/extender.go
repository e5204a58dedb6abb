package doctor

import (
	"fmt"
	"time"

	"github.com/evenkeel/evenkeel/policy"
)

// settling is for how long after its start a new pod may have been placed
// without the extender being asked, clocks that differ included.
const settling = 15 * time.Second

func examineExtender(p *Patient) []Finding {
	e := &p.Extender
	switch {
	case e.URL == "" && p.Mode == ModeNodeSync:
		return nil // it answers nobody, and nobody's answers matter to it
	case e.URL == "" && p.insideScheduler():
		return []Finding{fine(CheckExtender, "", "Not asked: the configuration has Evenkeel's plugin inside kube-scheduler.")}
	case e.URL == "":
		return p.unasked()
	case e.Err != nil:
		return []Finding{{
			Check: CheckExtender, Level: Problem, Subject: e.URL, Says: fmt.Sprintf("It gave no status: %v", e.Err),
			Mend: "See whether it runs and whether this is its address (--listen-address, 8888 unless said otherwise):\n" +
				"kubectl -n evenkeel get pods,services\nkubectl -n evenkeel port-forward service/evenkeel 8888   # then --extender-url http://127.0.0.1:8888",
		}}
	}
	wiring := p.wiring()
	if e.Observes && wiring.Level == OK && p.MovesByUsage && p.Load.Eviction.Steering != policy.SteeringNone {
		wiring.Level, wiring.Mend = Warning, "Let it answer once you trust it: take --observe away."
		wiring.Says += " It only observes (--observe): no pod is steered, so a process that evicts stops after its first move."
	}
	findings := []Finding{wiring}
	if e.Gate != "" {
		findings = append(findings, Finding{
			Check: CheckExtender, Level: Warning, Subject: e.URL, Says: "It knows too little about usage to score by: " + e.Gate,
			Mend: "See under sources and coverage; with separate processes, whether the extender has the same policy and permissions.",
		})
	}
	return findings
}

// unasked is where no extender's address was given.
func (p *Patient) unasked() []Finding {
	f := fine(CheckExtender, "", "Not checked: whether kube-scheduler asks it is known to the extender alone.")
	if p.Load.Eviction.Steering == policy.SteeringNone {
		f.Says += " The policy's steering is none: pods are moved all the same, and land where kube-scheduler puts them."
		return []Finding{f}
	}
	f.Level = Warning
	f.Mend = "kubectl -n evenkeel port-forward service/evenkeel 8888\nevenkeel doctor --extender-url http://127.0.0.1:8888"
	return []Finding{f}
}

// wiring reports whether kube-scheduler asks.
func (p *Patient) wiring() Finding {
	e := &p.Extender
	if e.Started.IsZero() {
		return Finding{
			Check: CheckExtender, Level: Warning, Subject: e.URL,
			Says: fmt.Sprintf("It does not say when it started; kube-scheduler has asked it %d times.", e.Asked),
			Mend: "Let extender and doctor be of the same version.",
		}
	}
	since := e.Started
	if e.LastAsked.After(since) {
		since = e.LastAsked
	}
	bound, known := p.boundAfter(since.Add(settling))
	said := fmt.Sprintf("It runs since %s and was asked %d times by kube-scheduler", clock(e.Started), e.Asked)
	if !e.LastAsked.IsZero() {
		said += ", last at " + clock(e.LastAsked)
	}
	switch {
	case !known && e.Asked == 0:
		said += "; whether pods were bound meanwhile could not be seen."
	case bound > 0 && e.Asked == 0:
		return Finding{
			Check: CheckExtender, Level: Problem, Subject: e.URL,
			Says: fmt.Sprintf("%s, though %s bound since: kube-scheduler does not ask it.", said, were(bound)),
			Mend: "Give kube-scheduler a configuration (--config) with this block, and restart it:\n" + Block(e.URL) +
				"\nCheck it: evenkeel doctor --scheduler-config FILE. On a control plane that allows none: eviction.steering: none.",
		}
	case bound > 0:
		return Finding{
			Check: CheckExtender, Level: Warning, Subject: e.URL,
			Says: fmt.Sprintf("%s; %s bound later: kube-scheduler has stopped asking, asks another replica, or another scheduler placed them.", said, were(bound)),
			Mend: "Look for the extender's address in kube-scheduler's log; with several replicas behind one Service ask each.",
		}
	case e.Asked > 0:
		return fine(CheckExtender, e.URL, "%s.", said)
	}
	return Finding{
		Check: CheckExtender, Level: Warning, Subject: e.URL, Says: said + "; no pod was bound since, so nothing is proved.",
		Mend: "Create a pod and ask again: kubectl run evenkeel-probe --image=registry.k8s.io/pause:3.10 --restart=Never",
	}
}

// boundAfter counts the pods that came after a time and were bound by a
// scheduler; static pods are not.
func (p *Patient) boundAfter(since time.Time) (bound int, known bool) {
	if p.Readings == nil {
		return 0, false
	}
	for _, node := range p.Readings.Snapshot.Nodes {
		for _, pod := range node.Pods {
			if pod.Created.After(since) && pod.Owner.Kind != "Node" {
				bound++
			}
		}
	}
	return bound, true
}

func were(pods int) string {
	if pods == 1 {
		return "1 new pod was"
	}
	return fmt.Sprintf("%d new pods were", pods)
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }
