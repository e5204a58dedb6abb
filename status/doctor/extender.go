package doctor

import (
	"fmt"
	"time"

	"github.com/evenkeel/evenkeel/policy"
)

// settling is the time after the extender's start, or after its last request, in which a
// pod placed without a request does not count as a problem. It allows for clock skew.
const settling = 15 * time.Second

func examineExtender(p *Installation, n *notes) {
	switch e := &p.Extender; {
	case e.URL == "" && p.Mode == ModeNodeSync: // nodesync is not an extender and needs none
	case e.URL == "" && p.insideScheduler():
		n.ok("", "Not asked: the configuration runs Evenkeel's plugin inside kube-scheduler.")
	case e.URL == "" && p.Load.Eviction.Steering == policy.SteeringNone:
		n.ok("", "Not needed: the policy's steering is none, so pods land where kube-scheduler puts them.")
	case e.URL == "":
		n.ok("", "Not checked: pass --extender-url to verify that kube-scheduler calls the extender.")
	case e.Err != nil:
		n.problem(e.URL, "Its status could not be read: %v", e.Err).
			fix("Check whether it runs, whether this is its address (--listen-address), and whether it requires a client certificate " +
				"(--extender-ca-file, --extender-client-cert-file, --extender-client-key-file):\n" +
				"kubectl -n evenkeel get pods,services\nkubectl -n evenkeel port-forward service/evenkeel 8888   # then --extender-url http://127.0.0.1:8888")
	default:
		p.examineStatus(n)
	}
}

// examineStatus checks the status of an extender.
func (p *Installation) examineStatus(n *notes) {
	e := &p.Extender
	p.wiring(n)
	switch {
	case e.Gate == "":
	case p.Readings != nil && p.Readings.At.Sub(e.Started) < p.Load.Hot.MinWindow.Duration+warmUp:
		n.warning(e.URL, "It started at %s and is still collecting the usage for its scores: %s", clock(e.Started), e.Gate)
	default:
		n.warning(e.URL, "It knows too little usage to score nodes: %s", e.Gate).
			fix("See sources and coverage. If processes are separate, check whether the extender has the same policy and permissions.")
	}
}

// wiring reports whether kube-scheduler asks the extender.
func (p *Installation) wiring(n *notes) {
	e := &p.Extender
	if e.Started.IsZero() {
		n.warning(e.URL, "It does not report when it started; kube-scheduler has asked it %d times.", e.Asked).
			fix("Use the same version for extender and doctor.")
		return
	}
	since := e.Started
	if e.LastAsked.After(since) {
		since = e.LastAsked
	}
	bound, known := p.boundAfter(since.Add(settling))
	summary := fmt.Sprintf("It has run since %s and was asked %d times by kube-scheduler", clock(e.Started), e.Asked)
	if !e.LastAsked.IsZero() {
		summary += ", last at " + clock(e.LastAsked)
	}
	switch {
	case bound > 0 && e.Asked == 0:
		n.problem(e.URL, "%s, although %s bound since then: kube-scheduler does not ask it.", summary, were(bound)).
			fix("Give kube-scheduler a configuration (--config) with this block, and restart it:\n" + Block(e.URL) +
				"\nCheck it: evenkeel doctor --scheduler-config FILE. If the control plane does not allow that, turn steering off:\n" +
				"eviction: {steering: none}")
	case bound > 0:
		n.warning(e.URL, "%s; %s bound later: kube-scheduler has stopped asking, asks another replica, or another scheduler placed them.", summary, were(bound)).
			fix("Look for the extender's address in kube-scheduler's log. With several replicas behind one Service, ask each of them.")
	case e.Asked > 0:
		n.ok(e.URL, "%s.", summary)
	default:
		proof := "no pod has been bound since then, so nothing is proven"
		if !known {
			proof = "whether pods were bound meanwhile is not known"
		}
		n.warning(e.URL, "%s; %s.", summary, proof).
			fix("Create a pod and ask again: kubectl run evenkeel-probe --image=registry.k8s.io/pause:3.10 --restart=Never")
	}
}

// boundAfter counts the pods that were created after a time and bound by a scheduler, so
// it ignores static pods.
func (p *Installation) boundAfter(since time.Time) (bound int, known bool) {
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
