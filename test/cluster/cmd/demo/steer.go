package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"

	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// The values of --steering.
const (
	byExtender  = "extender"
	byAdmission = "admission"
	byWebhook   = "webhook"
)

// components maps ways to steer through the API server to their shipped manifests.
var components = map[string]string{byAdmission: "admission-steering", byWebhook: "admission-steering-webhook"}

// letSteer makes the API server steer, with a kube-scheduler that calls no
// extender, and returns additional arguments for `evenkeel serve`.
func (s *show) letSteer(ctx context.Context) (args []string, err error) {
	component, is := components[s.steering]
	if !is {
		return nil, nil
	}
	by := "by a MutatingAdmissionPolicy"
	if s.steering == byWebhook {
		by = "by asking Evenkeel's webhook, as it does before Kubernetes 1.36"
	}
	s.say("kube-scheduler is as it comes and asks nobody: the API server itself steers replacements, %s.", by)
	files, err := evenkeel.Component(ctx, component)
	for _, file := range files {
		err = errors.Join(err, evenkeel.Apply(ctx, s.cluster, file, false))
	}
	if err != nil || s.steering != byWebhook {
		return nil, err
	}
	return s.answer(ctx)
}

// answer makes certificates and lets the API server call the webhook. The extender uses
// the same certificate, as in the shipped Deployment.
func (s *show) answer(ctx context.Context) ([]string, error) {
	made := filepath.Join(s.dir, "pki")
	if out, err := exec.CommandContext(ctx, s.binary, "certificates", "--directory", made).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("making certificates: %w\n%s", err, out)
	}
	address, err := evenkeel.FreeAddress()
	if err != nil {
		return nil, err
	}
	certificate, key := filepath.Join(made, "server.crt"), filepath.Join(made, "server.key")
	return []string{
		"--webhook-address", address, "--webhook-cert-file", certificate, "--webhook-private-key-file", key,
		"--tls-cert-file", certificate, "--tls-private-key-file", key,
	}, evenkeel.AskWebhook(ctx, s.cluster, made, address)
}
