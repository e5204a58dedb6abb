package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster/monitoring"
	"github.com/evenkeel/evenkeel/test/cluster/prometheus"
	"github.com/evenkeel/evenkeel/test/cluster/soak"
)

// scrapeEvery is both the time between two scrapes and that between two evaluations of
// the alerts.
const scrapeEvery = 15 * time.Second

// watchAlerts makes a Prometheus evaluate the shipped alerts from now on. It returns a
// function that stops this and returns the alerts that fired; nil if there is no
// Prometheus or nothing to watch.
func (s *stage) watchAlerts(ctx context.Context) (end func(context.Context) (*soak.Alerts, error), err error) {
	none := func(context.Context) (*soak.Alerts, error) { return nil, nil }
	if s.flags.baseline {
		return none, nil
	}
	if !prometheus.Installed() {
		s.Tell("no prometheus on the PATH: alerts are not evaluated")
		return none, nil
	}
	known, err := monitoring.Alerts(ctx)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(s.Dir, "prometheus")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, fmt.Errorf("making a folder for prometheus: %w", err)
	}
	var addresses []string
	for _, r := range s.processes {
		addresses = append(addresses, r.metrics)
	}
	server, err := monitoring.Watch(ctx, dir, scrapeEvery, addresses...)
	if err != nil {
		return nil, err
	}
	s.OnClose(server.Stop)
	began := time.Now()
	return func(ctx context.Context) (*soak.Alerts, error) {
		took, alerts := time.Since(began), &soak.Alerts{}
		for _, alert := range known {
			if alert.After < took {
				alerts.Watched = append(alerts.Watched, alert.Name)
			} else {
				alerts.TooLong = append(alerts.TooLong, alert.Name)
			}
		}
		fired, err := monitoring.Fired(ctx, server, took)
		alerts.Fired = fired
		return alerts, errors.Join(err, server.Stop())
	}, nil
}
