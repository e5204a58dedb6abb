package app

import (
	"context"
	"net/http"

	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/serve"
	"github.com/evenkeel/evenkeel/internal/steering"
	"github.com/evenkeel/evenkeel/scorer/extender"
	"github.com/evenkeel/evenkeel/scorer/extender/certs"
)

// extenderServer makes the server of a separate extender, its reports and its
// task. With --observe the server answers neutrally, and the task compares its
// answers with kube-scheduler's choices.
func (a *App) extenderServer() (*extender.Server, *serve.Pages, func(context.Context) error, error) {
	pages := a.pages()
	if !a.options.Observe {
		server, err := a.server(a.answerer, pages.Reports)
		return server, pages, untilStopped, err
	}
	shadow, err := steering.NewShadow(a.answerer, a.registry)
	if err != nil {
		return nil, nil, nil, err
	}
	pages.Reports.Shadow = shadow
	server, err := a.server(shadow, pages.Reports)
	if err != nil {
		return nil, nil, nil, err
	}
	return server, pages, func(ctx context.Context) error {
		klog.FromContext(ctx).Info("Answering neutrally", "reason", "--observe")
		return shadow.Run(ctx)
	}, nil
}

// server makes the server for an Answerer.
func (a *App) server(answerer extender.Answerer, reports *serve.Reports) (*extender.Server, error) {
	config := extender.Config{
		Answerer: answerer, Status: extender.Report(reports.Steering), Registerer: a.registry,
		Address: a.options.ListenAddress, InsecureAddress: a.options.InsecureAddress,
		TLS: certs.Files{CertFile: a.options.TLSCertFile, KeyFile: a.options.TLSKeyFile, ClientCAFile: a.options.ClientCAs},
	}
	a.answer(&config)
	server, err := extender.NewServer(config)
	if err != nil {
		return nil, exit.Usage(err)
	}
	a.answers = server
	return server, nil
}

// pages returns the reports of this process, as users read them.
func (a *App) pages() *serve.Pages {
	return &serve.Pages{
		Address: a.options.ReportAddress,
		Reports: &serve.Reports{
			Observer: a.observer, Authority: a.authority, Policies: a.policies, Answerer: a.answerer, Clock: a.kube.Clock, Begun: a.begun,
			Explainer: a.explainer, Lease: a.lease, Gauges: a.gauges, Namespace: a.options.Namespace,
		},
		Metrics: serve.Metrics(a.registry), Profiling: a.options.Profiling,
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
