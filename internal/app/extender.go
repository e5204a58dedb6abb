package app

import (
	"context"
	"net/http"

	"github.com/evenkeel/evenkeel/internal/collector"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/scorer/answer"
	"github.com/evenkeel/evenkeel/scorer/extender"
	"github.com/evenkeel/evenkeel/scorer/extender/certs"
	"github.com/evenkeel/evenkeel/status/live"
	"github.com/evenkeel/evenkeel/status/serve"
)

// Extender runs `evenkeel extender`: it answers kube-scheduler and never evicts.
func Extender(ctx context.Context, options flags.Options) error {
	collector.Fill()
	options.LeaderElect = false
	p, answers, err := newExtender(ctx, options)
	if err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	reached := func(ctx context.Context) error {
		if err := p.begin(ctx); err != nil {
			return err
		}
		return untilStopped(ctx)
	}
	p.health.Ready() // an extender without usage answers neutrally, which is better than not answering
	return p.start(ctx, answers.server.Run, answers.pages.Run, p.reflect, p.observeUsage, p.authority.Follow, p.heartbeat,
		p.watchPolicy, reached, collector.Settle(p.observer.Store().Synced))
}

func newExtender(ctx context.Context, options flags.Options) (*process, *answering, error) {
	s, err := open(options)
	if err != nil {
		return nil, nil, err
	}
	p, err := newProcess(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	explainer := live.New(p.observer, nil, p.pause, p.current().terms())
	p.follow(func(g *generation) { explainer.Follow(g.terms()) })
	answers, err := newAnswering(p, answer.NewAnswerer(p.observer, p.kube.Clock.Now), explainer)
	return p, answers, err
}

// answering holds what a process needs to answer kube-scheduler and serve reports.
type answering struct {
	server *extender.Server
	pages  *serve.Pages
}

func newAnswering(p *process, answerer *answer.Answerer, explainer *live.Explainer) (*answering, error) {
	reports := &serve.Reports{
		Observer: p.observer, Authority: p.authority, Policies: p.policies, Answerer: answerer, Clock: p.kube.Clock, Begun: p.begun,
		Explainer: explainer, Lease: p.lease, Gauges: p.gauges, Namespace: p.options.Namespace,
	}
	var answers extender.Answerer = answerer
	if p.options.Observe {
		answers = answer.Neutral{}
	}
	server, err := newServer(p, answers, reports)
	pages := &serve.Pages{Address: p.options.ReportAddress, Reports: reports, Metrics: serve.Metrics(p.registry), Profiling: p.options.Profiling}
	return &answering{server: server, pages: pages}, err
}

// newServer makes the server for an Answerer. The server follows the policy in effect.
func newServer(p *process, answerer extender.Answerer, reports *serve.Reports) (*extender.Server, error) {
	config := p.answers()
	config.Answerer, config.Status = answerer, extender.Report(reports.Steering)
	server, err := extender.NewServer(config)
	if err != nil {
		return nil, exit.Usage(err)
	}
	p.follow(func(g *generation) {
		if measured := g.load.Scoring.Measured; measured != nil {
			server.SetLoad(measured.Message, measured.RejectAll)
		}
	})
	return server, nil
}

// answers returns the Answerer's settings from the policy and the flags.
func (p *process) answers() extender.Config {
	o := &p.options
	config := extender.Config{
		Registerer: p.registry, Address: o.ListenAddress, InsecureAddress: o.InsecureAddress, LogBodies: o.LogBodies,
		TLS: certs.Files{CertFile: o.TLSCertFile, KeyFile: o.TLSKeyFile, ClientCAFile: o.ClientCAs},
	}
	if measured := p.current().load.Scoring.Measured; measured != nil {
		config.LoadMessage, config.RejectAll = measured.Message, measured.RejectAll
	}
	if o.MemoryOnly {
		config.NamesOnly, config.FullReplies = true, true
		config.Pages = map[string]http.Handler{
			"/":        extender.Text("evenkeel extender: POST /filter and /prioritize, GET /healthcheck, /metrics and /status\n"),
			"/metrics": serve.Metrics(p.registry),
		}
	}
	return config
}
