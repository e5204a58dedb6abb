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
	// url uses plain HTTP; secureURL, if needed, uses mutual TLS with the certificates in
	// the folder files.
	url, secureURL, files string
	// page is the handler's metrics page. The metric with the label on it counts the
	// handler's answers.
	page, metric, label string
}

// reading holds what the processes report about themselves at one moment.
type reading struct {
	asked int
	// scheduler and handler are the processor times of kube-scheduler and its handler.
	scheduler, handler time.Duration
}

func (h *handler) read(ctx context.Context) (reading, error) {
	text, err := workshop.Fetch(ctx, http.DefaultClient, h.page)
	asked, _ := measure.Metric(text, h.metric, h.label)
	return reading{asked: int(asked), handler: throughput.CPU(text)}, err
}

// read reads the metrics of kube-scheduler and its handler.
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
