package main

import (
	"context"
	"net/http"
	"time"

	"github.com/evenkeel/evenkeel/hack/measure"
	"github.com/evenkeel/evenkeel/test/cluster/cmd/internal/workshop"
	"github.com/evenkeel/evenkeel/test/cluster/throughput"
)

// handler is an extender of kube-scheduler.
type handler struct {
	// url uses plain HTTP; secureURL uses mutual TLS, if needed, with the
	// certificates in the folder files.
	url, secureURL, files string
	// page is its metrics page, on which the metric with the label counts its
	// answers.
	page, metric, label string
}

// reading holds what the processes report about themselves at a moment.
type reading struct {
	asked int
	// scheduler and handler are their processor time.
	scheduler, handler time.Duration
}

func (h *handler) read(ctx context.Context) (reading, error) {
	text, err := workshop.Fetch(ctx, http.DefaultClient, h.page)
	asked, _ := measure.Metric(text, h.metric, h.label)
	return reading{asked: int(asked), handler: throughput.CPU(text)}, err
}

// read reads kube-scheduler and its handler.
func (s *stage) read(ctx context.Context, scheduler *scheduler) (reading, error) {
	text, err := workshop.Fetch(ctx, s.client, scheduler.url+"/metrics")
	if err != nil {
		return reading{}, err
	}
	var result reading
	if h := s.handlers[scheduler.variant.Handler]; h != nil {
		if result, err = h.read(ctx); err != nil {
			return reading{}, err
		}
	}
	result.scheduler = throughput.CPU(text)
	return result, nil
}
