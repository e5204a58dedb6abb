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

// extenderServer makes the server of a separate extender and its task. With
// --observe the server answers neutrally, and the task compares its answers
// with kube-scheduler's choices.
func (a *App) extenderServer() (*extender.Server, func(context.Context) error, error) {
	if !a.options.Observe {
		server, err := a.server(extender.Config{Answerer: a.answerer, Status: extender.Report(a.reports().Status)})
		return server, untilStopped, err
	}
	shadow, err := steering.NewShadow(a.answerer, a.registry)
	if err != nil {
		return nil, nil, err
	}
	server, err := a.server(extender.Config{
		Answerer: shadow, Status: a.reports().Shadow(shadow),
		Shadow: extender.Report(func(*http.Request) (any, error) { return shadow.Report(), nil }),
	})
	if err != nil {
		return nil, nil, err
	}
	return server, func(ctx context.Context) error {
		klog.FromContext(ctx).Info("Answering neutrally", "reason", "--observe")
		return shadow.Run(ctx)
	}, nil
}

// server makes the server for an Answerer, with its reports.
func (a *App) server(config extender.Config) (*extender.Server, error) {
	config.Address, config.InsecureAddress = a.options.ListenAddress, a.options.InsecureAddress
	config.TLS = extender.TLS{CertFile: a.options.TLSCertFile, KeyFile: a.options.TLSKeyFile, ClientCAFile: a.options.ClientCAs}
	config.Nodes, config.Explain = extender.Report(a.reports().Nodes), extender.Report(a.explainer.Explain)
	config.Registerer = a.registry
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
	return &serve.Reports{Observer: a.observer, Authority: a.authority, Policies: a.policies, Answerer: a.answerer, Started: a.started}
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
		"/":        extender.Text("evenkeel extender: POST /filter and /prioritize, GET /healthcheck, /metrics, /nodes and /status\n"),
		"/metrics": serve.Metrics(a.registry),
	}
}
