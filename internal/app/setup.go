package app

import (
	"cmp"
	"io"

	"k8s.io/client-go/tools/events"

	"github.com/evenkeel/evenkeel/internal/authority"
	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/kube"
	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/policy"
)

// setup is what a process is made from.
type setup struct {
	options flags.Options
	kube    *kube.Connection
	file    *policy.File
	content []byte // of the policy file; nil for a policy without one

	// decode reads what the kind of process runs.
	decode decoder
	// recorder records Events; nil in a process that does not evict.
	recorder events.EventRecorder
	// once reports whether the process ends after one cycle.
	once bool
	// onlyOurs leaves out all plugins of the policy that are no strategies of
	// Evenkeel's own.
	onlyOurs bool
	// withholdCredentials keeps the tokens and passwords that the policy names
	// from its servers.
	withholdCredentials bool
	// notes is where to print how a legacy policy was converted; nil for the log.
	notes io.Writer
}

// open checks the flags, reads the policy and prepares the connection to the API
// server, without a request.
func open(options flags.Options, decode decoder) (s setup, err error) {
	defer policyfile.Recover(options.PolicyFile, &err)
	if err := options.Validate(); err != nil {
		return setup{}, err
	}
	s = setup{options: options, decode: decode, file: options.Given}
	if s.file == nil {
		if s.file, s.content, err = policyfile.Read(options.PolicyFile, options.Converters...); err != nil {
			return setup{}, err
		}
	}
	s.kube, err = options.Connect()
	return s, err
}

// namespace is where the ledger, the pause switch and the Lease are.
func (s *setup) namespace() string { return cmp.Or(s.options.Namespace, flags.DefaultNamespace) }

func (s *setup) leaseConfig(progress func()) authority.LeaseConfig {
	o := &s.options
	return authority.LeaseConfig{
		Client: s.kube.Client, Namespace: o.Namespace, Name: o.LeaseName, Elect: o.Elects(), Once: s.once,
		Duration: o.LeaseDuration, RenewDeadline: o.RenewDeadline, RetryPeriod: o.RetryPeriod, Progress: progress,
	}
}
