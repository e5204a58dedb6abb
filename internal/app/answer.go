package app

import (
	"net/http"

	"github.com/evenkeel/evenkeel/internal/serve"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

// answer sets how kube-scheduler is answered, as far as the policy and the options say it.
func (a *App) answer(config *extender.Config) {
	if measured := a.load.Scoring.Measured; measured != nil {
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
