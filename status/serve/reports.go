package serve

import (
	"net/http"
	"time"

	"github.com/evenkeel/evenkeel/evictor/leadership"
	"github.com/evenkeel/evenkeel/internal/servertime"
	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/observer"
	"github.com/evenkeel/evenkeel/scorer/answer"
	"github.com/evenkeel/evenkeel/status"
	"github.com/evenkeel/evenkeel/status/announce"
	"github.com/evenkeel/evenkeel/status/live"
	"github.com/evenkeel/evenkeel/status/observed"
)

// Steering is the response to GET /status on the port for kube-scheduler, which
// unauthenticated clients can reach. It contains only the fields that an evicting process
// needs.
type Steering struct {
	status.ProcessStatus
	Ledger struct {
		// Generation is the generation of the newest stored ledger that was read.
		Generation int64 `json:"generation"`
	} `json:"ledger"`
}

// Reports makes the reports of a process.
type Reports struct {
	Observer *observer.Observer
	// Authority is nil in a process that does not read the stored ledger.
	Authority *leadership.Authority
	Policies  *announce.Policies
	// Answerer is nil in a process that does not answer kube-scheduler.
	Answerer *answer.Answerer
	// Begun is when the process started, according to the local clock.
	Begun time.Time
	Clock *servertime.Clock
	// Explainer, Lease and Gauges are used only by the page. Lease is nil in a process
	// without a Lease, and Gauges in a process that does not evict.
	Explainer *live.Explainer
	Lease     *leadership.Lease
	Gauges    *Gauges
	// Namespace is the namespace of the process's replicas.
	Namespace string
}

// Nodes answers GET /nodes.
func (p *Reports) Nodes(*http.Request) (any, error) { return observed.Nodes(p.Observer.Latest()), nil }

// Requests answers GET /requests; nothing is observed before the first reading.
func (p *Reports) Requests(*http.Request) (any, error) {
	latest := p.Observer.Latest()
	if latest == nil {
		return status.Requests{}, nil
	}
	inFlight, ended := p.Observer.Ledger().Moves()
	return observed.Requests(latest, p.Observer.PodCPU(), append(inFlight, ended...)), nil
}

// Steering answers GET /status on the port for kube-scheduler.
func (p *Reports) Steering(r *http.Request) (any, error) {
	s := Steering{ProcessStatus: p.asked(r)}
	s.Ledger.Generation = p.generation()
	return s, nil
}

// Status answers GET /status among the reports.
func (p *Reports) Status(r *http.Request) (any, error) {
	is := status.Status{ProcessStatus: p.asked(r), Policy: p.Policies.Status()}
	if latest := p.Observer.Latest(); latest != nil {
		is.Observed, is.GateDetail = latest.At.UTC().Format(time.RFC3339), latest.Closed()
		is.Sources = observed.Sources(latest)
		is.ReadyNodes, is.FreshNodes = latest.Ready, latest.Fresh
	}
	if p.Authority != nil {
		pause := p.Authority.Pause()
		is.Paused, is.PauseDetail = string(pause.Reason), pause.Detail
	}
	inFlight, ended := p.Observer.Ledger().Moves()
	is.Ledger = p.ledgerReport(inFlight)
	for _, move := range append(inFlight, ended...) {
		reported := status.MoveOf(&move)
		reported.Replacement = move.Replacement // /status has the UID, because scripts use it to look up the pod
		is.Moves = append(is.Moves, reported)
	}
	return is, nil
}

func (p *Reports) asked(r *http.Request) status.ProcessStatus {
	asked := status.ProcessStatus{Process: status.Process{Started: p.Begun.Add(p.Clock.Skew()).UTC().Format(time.RFC3339)}}
	if p.Answerer != nil {
		asked.Asked, asked.PodAsked = p.Answerer.Asked(), p.Answerer.AskedAbout(r.URL.Query().Get("pod"))
		if at := p.Answerer.LastAsked(); !at.IsZero() {
			asked.LastAsked = at.UTC().Format(time.RFC3339)
		}
	}
	if latest := p.Observer.Latest(); latest != nil {
		asked.Gate = string(latest.Blocked)
	}
	return asked
}

func (p *Reports) ledgerReport(inFlight []ledger.Move) status.LedgerReport {
	report := status.LedgerReport{InFlight: len(inFlight), Generation: p.generation()}
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
