package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/evenkeel/evenkeel/hack/measure"
	"github.com/evenkeel/evenkeel/test/cluster/throughput"
)

const (
	// fetchWithin bounds a request for a page, maxPage how much of it is read, in bytes.
	fetchWithin = 10 * time.Second
	maxPage     = 64 << 20
)

// handler is who answers kube-scheduler.
type handler struct {
	url string
	// page is that of its metrics, where the metric with the label counts its answers.
	page, metric, label string
}

// reading is what processes tell of themselves at one moment.
type reading struct {
	asked int
	// scheduler and handler are the processor time that they have taken.
	scheduler, handler time.Duration
}

func (h *handler) read(ctx context.Context) (reading, error) {
	text, err := fetch(ctx, http.DefaultClient, h.page)
	asked, _ := measure.Metric(text, h.metric, h.label)
	return reading{asked: int(asked), handler: throughput.CPU(text)}, err
}

// read reads kube-scheduler and its handler.
func (s *stage) read(ctx context.Context, scheduler *scheduler) (reading, error) {
	text, err := fetch(ctx, s.client, scheduler.url+"/metrics")
	if err != nil {
		return reading{}, err
	}
	var told reading
	if h := s.handlers[scheduler.variant.Handler]; h != nil {
		if told, err = h.read(ctx); err != nil {
			return reading{}, err
		}
	}
	told.scheduler = throughput.CPU(text)
	return told, nil
}

// fetch gets a page.
func fetch(ctx context.Context, client *http.Client, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", fmt.Errorf("fetching %s: %w", url, err)
	}
	// Packing a page would cost the one that tells what it costs.
	request.Header.Set("Accept-Encoding", "identity")
	response, err := client.Do(request)
	if err != nil {
		return "", fmt.Errorf("fetching %s: %w", url, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxPage))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", response.StatusCode)
	}
	if err != nil {
		return "", fmt.Errorf("fetching %s: %w", url, err)
	}
	return string(text), nil
}
