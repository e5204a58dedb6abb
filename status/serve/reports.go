package serve

import (
	"net/http"
	"time"

	"github.com/evenkeel/evenkeel/evictor/leadership"
	"github.com/evenkeel/evenkeel/internal/servertime"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/scorer/answer"
	"github.com/evenkeel/evenkeel/status/announce"
	"github.com/evenkeel/evenkeel/status/explain"
	"github.com/evenkeel/evenkeel/status/explain/live"
)

// Asked is whether kube-scheduler asks this process. It names no node, and no
// pod but the one that was asked about.
type Asked struct {
	// Started is when the process started.
	Started string `json:"started"`
	// Asked counts filter and prioritize requests since the process started;
	// LastAsked is when the newest came.
	Asked     int64  `json:"asked"`
	LastAsked string `json:"lastAsked,omitempty"`
	// PodAsked answers ?pod=UID: whether kube-scheduler recently asked about
	// this pod.
	PodAsked bool `json:"podAsked,omitempty"`
	// Gate is why nothing would be evicted now; empty if evicting is allowed.
	Gate string `json:"gate,omitempty"`
	// Shadow is set while answers are neutral. Then Asked stays 0 and PodAsked
	// false: no pod was steered, and an evicting process must not mistake
	// kube-scheduler's requests for steering.
	Shadow *answer.ShadowSummary `json:"shadow,omitempty"`
}

// Steering is the response to GET /status on the port where kube-scheduler
// asks, which strangers may reach: what an evicting process has to know.
type Steering struct {
	Asked
	Ledger struct {
		// Generation is that of the newest stored ledger that was read.
		Generation int64 `json:"generation"`
	} `json:"ledger"`
}

// Status is the response to GET /status among the reports.
type Status struct {
	Asked
	// Observed is when usage was last read; empty before the first reading.
	Observed string `json:"observed,omitempty"`
	// GateDetail explains Gate.
	GateDetail string `json:"gateDetail,omitempty"`
	// Paused is why the kill switch stops evicting, Paused or PauseUnreadable;
	// empty if it does not. It is at most 15 seconds old. PauseDetail explains
	// it.
	Paused      string `json:"paused,omitempty"`
	PauseDetail string `json:"pauseDetail,omitempty"`
	// Sources has the result of the last reading of each usage source.
	Sources []SourceReport `json:"sources,omitempty"`
	// ReadyNodes counts the ready nodes; FreshNodes counts those whose usage is
	// known.
	ReadyNodes int `json:"readyNodes"`
	FreshNodes int `json:"freshNodes"`
	// Policy reports which policy is in effect.
	Policy announce.PolicyStatus `json:"policy"`
	// Ledger reports the stored ledger.
	Ledger LedgerReport `json:"ledger"`
	// Moves lists the moves in flight and those that ended recently.
	Moves []MoveStatus `json:"moves,omitempty"`
}

// SourceReport is the result of the last reading of a usage source.
type SourceReport struct {
	Name string `json:"name"`
	// Asked is false if the sources before it had everything.
	Asked bool   `json:"asked"`
	Error string `json:"error,omitempty"`
	// Nodes and Pods count those that it reported; Chosen counts the known
	// nodes whose usage is taken from it.
	Nodes  int `json:"nodes"`
	Pods   int `json:"pods"`
	Chosen int `json:"chosenNodes"`
	// Problems are the rejected samples, by cause.
	Problems map[string]ProblemReport `json:"problems,omitempty"`
}

// ProblemReport is how many samples were rejected for one cause, with a few
// examples by name.
type ProblemReport struct {
	Count    int      `json:"count"`
	Examples []string `json:"examples"`
}

// SourceReports returns the result of the last reading of each source.
func SourceReports(o *observer.Observation) []SourceReport {
	reports := make([]SourceReport, len(o.Sources))
	for i := range o.Sources {
		s := &o.Sources[i]
		reports[i] = SourceReport{Name: s.Name, Asked: s.Asked, Nodes: s.Nodes, Pods: s.Pods, Problems: map[string]ProblemReport{}}
		if s.Err != nil {
			reports[i].Error = s.Err.Error()
		}
		for k := range o.View.Nodes {
			if o.View.Nodes[k].Known() && o.View.Nodes[k].Source == s.Name {
				reports[i].Chosen++
			}
		}
		for cause, problem := range s.Problems {
			reports[i].Problems[string(cause)] = ProblemReport{Count: problem.Count, Examples: problem.Examples}
		}
	}
	return reports
}

// MoveStatus is one move of the ledger.
type MoveStatus struct {
	Namespace   string          `json:"namespace"`
	Pod         string          `json:"pod"`
	Owner       string          `json:"owner"`
	From        string          `json:"from"`
	To          string          `json:"to,omitempty"`
	Node        string          `json:"node,omitempty"`
	State       string          `json:"state"`
	Asked       bool            `json:"asked"`
	Replacement string          `json:"replacement,omitempty"`
	Usage       explain.Amounts `json:"usage"`
}

// Reports answers the pages that report what a process knows.
type Reports struct {
	Observer *observer.Observer
	// Authority is nil in a process that does not read the stored ledger.
	Authority *leadership.Authority
	Policies  *announce.Policies
	// Answerer is nil in a process that does not answer kube-scheduler.
	Answerer *answer.Answerer
	// Shadow answers kube-scheduler in place of Answerer; nil without one.
	Shadow *answer.Shadow
	// Begun is when the process started, by the local clock.
	Begun time.Time
	Clock *servertime.Clock
	// Explainer, Lease and Gauges are what the page knows besides. Lease is nil
	// in a process without one, Gauges in one that does not evict.
	Explainer *live.Explainer
	Lease     *leadership.Lease
	Gauges    *Gauges
	// Namespace is where its replicas are.
	Namespace string
}

// Steering answers GET /status on the port where kube-scheduler asks.
func (p *Reports) Steering(r *http.Request) (any, error) {
	s := Steering{Asked: p.asked(r)}
	s.Ledger.Generation = p.generation()
	return s, nil
}

// Status answers GET /status among the reports.
func (p *Reports) Status(r *http.Request) (any, error) {
	status := Status{Asked: p.asked(r), Policy: p.Policies.Status()}
	if latest := p.Observer.Latest(); latest != nil {
		status.Observed, status.GateDetail = latest.At.UTC().Format(time.RFC3339), latest.Closed()
		status.Sources = SourceReports(latest)
		status.ReadyNodes, status.FreshNodes = latest.Ready, latest.Fresh
	}
	if p.Authority != nil {
		pause := p.Authority.Pause()
		status.Paused, status.PauseDetail = string(pause.Reason), pause.Detail
	}
	inFlight, ended := p.Observer.Ledger().Moves()
	status.Ledger = p.ledgerReport(inFlight)
	for _, move := range append(inFlight, ended...) {
		status.Moves = append(status.Moves, moveStatus(&move))
	}
	return status, nil
}

func (p *Reports) asked(r *http.Request) Asked {
	asked := Asked{Started: p.Begun.Add(p.Clock.Skew()).UTC().Format(time.RFC3339)}
	if p.Answerer != nil {
		asked.Asked, asked.PodAsked = p.Answerer.Asked(), p.Answerer.AskedAbout(r.URL.Query().Get("pod"))
		if at := p.Answerer.LastAsked(); !at.IsZero() {
			asked.LastAsked = at.UTC().Format(time.RFC3339)
		}
	}
	if latest := p.Observer.Latest(); latest != nil {
		asked.Gate = string(latest.Blocked)
	}
	if p.Shadow != nil {
		asked.Shadow = new(p.Shadow.Summary())
	}
	return asked
}

func moveStatus(m *ledger.Move) MoveStatus {
	return MoveStatus{
		Namespace: m.Namespace, Pod: m.Pod, Owner: m.Owner.Kind + "/" + m.Owner.Name, From: m.From, To: m.To, Node: m.Node,
		State: string(m.State), Asked: m.Asked, Replacement: m.Replacement, Usage: explain.AmountsOf(m.Usage),
	}
}

// LedgerReport is what a process knows of the stored ledger.
type LedgerReport struct {
	// Generation is that of the newest document it has read or written.
	Generation int64 `json:"generation"`
	InFlight   int   `json:"inFlight"`
	// Unreadable is why the stored ledger cannot be read, so that nothing is
	// evicted, and how to go on; empty if it can.
	Unreadable string `json:"unreadable,omitempty"`
	// Hold is why evicting is on hold; empty if it is not.
	Hold string `json:"hold,omitempty"`
	// HoldUntil is when it resumes automatically.
	HoldUntil string `json:"holdUntil,omitempty"`
}

func (p *Reports) ledgerReport(inFlight []ledger.Move) LedgerReport {
	report := LedgerReport{InFlight: len(inFlight), Generation: p.generation()}
	if p.Authority != nil {
		if err := p.Authority.Unreadable(); err != nil {
			report.Unreadable = err.Error()
		}
	}
	if hold := p.Observer.Ledger().Hold(); hold.Reason != "" && !hold.Partial {
		report.Hold, report.HoldUntil = hold.Reason, hold.Until.UTC().Format(time.RFC3339)
	}
	return report
}

func (p *Reports) generation() int64 {
	if p.Authority == nil {
		return 0
	}
	return p.Authority.Generation()
}
