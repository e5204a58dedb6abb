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

// extenderServer makes the server of a separate extender, and the task that
// goes with it: with --observe one that answers neutrally, and the comparison
// of its answers with what kube-scheduler does.
func (a *App) extenderServer() (*extender.Server, func(context.Context) error, error) {
	if !a.options.Observe {
		server, err := a.server(extender.Config{Judge: a.judge, Status: extender.Report(a.reports().Status)})
		return server, untilStopped, err
	}
	shadow, err := steering.NewShadow(a.judge, a.registry)
	if err != nil {
		return nil, nil, err
	}
	server, err := a.server(extender.Config{
		Judge: shadow, Status: a.reports().Shadow(shadow),
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

// server makes the server for a judge, with the reports that go with it.
func (a *App) server(config extender.Config) (*extender.Server, error) {
	config.Address = a.options.ListenAddress
	config.TLS = extender.TLS{CertFile: a.options.TLSCertFile, KeyFile: a.options.TLSKeyFile, ClientCAFile: a.options.ClientCAs}
	config.Nodes, config.Explain = extender.Report(a.reports().Nodes), extender.Report(a.desk.Explain)
	config.Registerer = a.registry
	a.answer(&config)
	server, err := extender.NewServer(config)
	if err != nil {
		return nil, exit.Usage(err)
	}
	a.answers = server
	return server, nil
}

// reports are what this process can tell.
func (a *App) reports() *serve.Reports {
	return &serve.Reports{Observer: a.observer, Authority: a.authority, Policies: a.policies, Judge: a.judge, Started: a.started}
}

// answer sets how kube-scheduler is answered, as far as the policy and the
// options say it.
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
