package app

import (
	"context"
	"net/http"

	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/serve"
	"github.com/evenkeel/evenkeel/internal/steering"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// extenderServer makes the server of a separate extender, its reports and its
// task. With --observe the server answers neutrally, and the task compares its
// answers with kube-scheduler's choices.
func (a *App) extenderServer() (*extender.Server, *serve.Reports, func(context.Context) error, error) {
	reports := a.reports()
	if !a.options.Observe {
		server, err := a.server(a.answerer, reports)
		return server, reports, untilStopped, err
	}
	shadow, err := steering.NewShadow(a.answerer, a.registry)
	if err != nil {
		return nil, nil, nil, err
	}
	reports.Shadow = shadow
	server, err := a.server(shadow, reports)
	if err != nil {
		return nil, nil, nil, err
	}
	return server, reports, func(ctx context.Context) error {
		klog.FromContext(ctx).Info("Answering neutrally", "reason", "--observe")
		return shadow.Run(ctx)
	}, nil
}

// server makes the server for an Answerer.
func (a *App) server(answerer extender.Answerer, reports *serve.Reports) (*extender.Server, error) {
	config := extender.Config{
		Answerer: answerer, Status: extender.Report(reports.Steering), Registerer: a.registry, Address: a.options.ListenAddress, InsecureAddress: a.options.InsecureAddress,
		TLS: extender.TLS{CertFile: a.options.TLSCertFile, KeyFile: a.options.TLSKeyFile, ClientCAFile: a.options.ClientCAs},
	}
	a.answer(&config)
	server, err := extender.NewServer(config)
	if err != nil {
		return nil, exit.Usage(err)
	}
	a.answers = server
	return server, nil
}

// reports returns the reports of this process.
func (a *App) reports() *serve.Reports {
	return &serve.Reports{Observer: a.observer, Authority: a.authority, Policies: a.policies, Answerer: a.answerer, Clock: a.kube.Clock, Begun: a.begun}
}

// report serves reports until the context ends. Kube-scheduler is answered
// without them too.
func (a *App) report(reports *serve.Reports) func(context.Context) error {
	pages := serve.Pages{Reports: reports, Explain: a.explainer.Explain, Metrics: serve.Metrics(a.registry), Profiling: a.options.Profiling}
	return func(ctx context.Context) error {
		if err := serve.Listen(ctx, a.options.ReportAddress, "reports", pages.Handler()); err != nil {
			klog.FromContext(ctx).Error(err, "Reports are not served; see --report-address")
		}
		return untilStopped(ctx)
	}
}

// answer applies the policy and the options to how kube-scheduler is answered.
func (a *App) answer(config *extender.Config) {
	if measured := a.current().load.Scoring.Measured; measured != nil {
		config.LoadMessage, config.RejectAll = measured.Message, measured.RejectAll
	}
	config.LogBodies = a.options.LogBodies
	if !a.options.MemoryOnly {
		return
	}
	config.NamesOnly, config.FullReplies = true, true
	config.Pages = map[string]http.Handler{
		"/":        extender.Text("evenkeel extender: POST /filter and /prioritize, GET /healthcheck, /metrics and /status\n"),
		"/metrics": serve.Metrics(a.registry),
	}
}
