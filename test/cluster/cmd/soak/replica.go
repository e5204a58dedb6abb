package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/evenkeel/evenkeel/test/cluster/cmd/internal/workshop"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/soak"
)

// replica is one evenkeel process. It is restarted when it ends, as by its Deployment.
type replica struct {
	name            string
	binary          string
	logs            string // pattern of the names of log files; contains %d
	args            []string
	listen, metrics string

	process  *evenkeel.Process
	restarts int
	samples  []soak.Vitals
	latest   *soak.Vitals
}

// startEvenkeel starts the replicas and waits until all of them serve.
func (s *stage) startEvenkeel(ctx context.Context, listen string) error {
	ctx, cancel := context.WithTimeout(ctx, upWithin)
	defer cancel()
	access, err := evenkeel.Install(ctx, s.Cluster)
	if err != nil {
		return err
	}
	for i := range s.flags.replicas {
		if i > 0 {
			if listen, err = evenkeel.FreeAddress(); err != nil {
				return err
			}
		}
		metrics, err := evenkeel.FreeAddress()
		if err != nil {
			return err
		}
		kubeconfig, err := s.wayToAPIServer(ctx, access.Evenkeel, i)
		if err != nil {
			return err
		}
		r := &replica{
			name: fmt.Sprintf("evenkeel-%d", i), binary: s.binary, listen: listen, metrics: metrics,
			logs: filepath.Join(s.Dir, fmt.Sprintf("evenkeel-%d.%%d.log", i)),
			args: []string{
				"serve", "--kubeconfig", kubeconfig, "--namespace", evenkeel.Namespace, "--policy-config-file", s.policy,
				"--descheduling-interval", s.flags.interval.String(), "--listen-address", listen, "--metrics-address", metrics,
				"--v", fmt.Sprint(s.flags.verbosity),
			},
		}
		if err := r.start(); err != nil {
			return err
		}
		s.OnClose(r.stop)
		s.processes = append(s.processes, r)
	}
	for _, r := range s.processes {
		if err := r.process.WaitServing(ctx, "http://"+r.metrics+"/readyz"); err != nil {
			return err
		}
	}
	return nil
}

func (r *replica) start() (err error) {
	r.process, err = evenkeel.Start(r.binary, fmt.Sprintf(r.logs, r.restarts), r.args...)
	return err
}

func (r *replica) stop() error {
	if r.process == nil {
		return nil
	}
	return r.process.Stop()
}

// revive restarts the process if it has ended, and reports whether it had.
func (r *replica) revive() (died bool, err error) {
	if !r.process.Ended() {
		return false, nil
	}
	r.restarts++
	r.latest = nil
	return true, r.start()
}

// measure reads the process's own metrics.
func (r *replica) measure(ctx context.Context) error {
	page, err := workshop.Fetch(ctx, http.DefaultClient, "http://"+r.metrics+"/metrics")
	if err != nil {
		return err
	}
	vitals, err := soak.ReadVitals(page)
	if err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	r.samples, r.latest = append(r.samples, vitals), &vitals
	return nil
}

// sumUp summarizes the process's samples and logs.
func (r *replica) sumUp() (soak.Process, error) {
	var log soak.LogErrors
	var errs []error
	for i := range r.restarts + 1 {
		errs = append(errs, readLog(&log, fmt.Sprintf(r.logs, i)))
	}
	return soak.NewProcess(r.name, r.restarts, r.samples, &log), errors.Join(errs...)
}

func readLog(into *soak.LogErrors, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading a log: %w", err)
	}
	defer file.Close()
	return into.Read(file)
}
