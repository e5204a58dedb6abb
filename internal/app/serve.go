package app

import (
	"context"

	"github.com/evenkeel/evenkeel/internal/collector"
	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/scorer/admission"
	"github.com/evenkeel/evenkeel/scorer/admission/webhook"
	"github.com/evenkeel/evenkeel/scorer/extender/certs"
	"github.com/evenkeel/evenkeel/status/announce"
)

// Serve runs `evenkeel serve`: every replica answers kube-scheduler, and the leader
// evicts.
func Serve(ctx context.Context, options flags.Options) error {
	if !options.Loops() {
		return exit.Usagef("serve needs --descheduling-interval or --schedule")
	}
	collector.Fill()
	e, answers, err := newServe(ctx, options)
	if err != nil {
		return exit.UnlessStopped(ctx, err)
	}
	tasks := []func(context.Context) error{answers.server.Run, answers.pages.Run, e.evict, collector.Settle(e.process.observer.Store().Synced)}
	if options.WebhookAddress != "" {
		hook, err := newWebhook(e.process)
		if err != nil {
			return err
		}
		tasks = append(tasks, hook.Run)
	}
	return e.process.start(ctx, tasks...)
}

func newServe(ctx context.Context, options flags.Options) (*evicting, *answering, error) {
	s, err := open(options)
	if err != nil {
		return nil, nil, err
	}
	e, err := newEvicting(ctx, s, announce.NewRecorder(s.kube.Client, options.DryRun), true)
	if err != nil {
		return nil, nil, err
	}
	answers, err := newAnswering(e.process, e.steering.planner, e.explainer)
	return e, answers, err
}

func newWebhook(p *process) (*webhook.Server, error) {
	client, err := p.kube.Dynamic()
	if err != nil {
		return nil, err
	}
	files := certs.Files{CertFile: p.options.WebhookCertFile, KeyFile: p.options.WebhookKeyFile}
	return webhook.NewServer(p.options.WebhookAddress, files, admission.NewFollowed(client), p.kube.Clock.Now, p.registry)
}
