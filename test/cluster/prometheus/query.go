package prometheus

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Sample is one series in a query result.
type Sample struct {
	Labels map[string]string
	Value  float64
}

// Query returns the current value of an expression whose result is a vector.
func (s *Server) Query(ctx context.Context, expression string) ([]Sample, error) {
	var result struct {
		Result []struct {
			Metric map[string]string `json:"metric"`
			Value  [2]any            `json:"value"`
		} `json:"result"`
	}
	if err := s.get(ctx, "/api/v1/query?query="+url.QueryEscape(expression), &result); err != nil {
		return nil, fmt.Errorf("querying prometheus for %q: %w", expression, err)
	}
	samples := make([]Sample, 0, len(result.Result))
	for _, series := range result.Result {
		text, _ := series.Value[1].(string)
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("querying prometheus for %q: reading a value: %w", expression, err)
		}
		samples = append(samples, Sample{Labels: series.Metric, Value: value})
	}
	return samples, nil
}

// WaitScraped waits until each of the given nodes, or every target if none is given, was
// scraped twice since this call, so that counters have a current rate.
func (s *Server) WaitScraped(ctx context.Context, nodes ...string) error {
	truths, err := s.nodes(ctx, nodes)
	if err != nil {
		return err
	}
	waiting := map[string]bool{}
	for _, node := range truths {
		waiting[s.config.Cluster.UsageURL(node.Name)] = true
	}
	since, first, problem := time.Now(), map[string]time.Time{}, ""
	err = wait.PollUntilContextCancel(ctx, pollEvery, true, func(ctx context.Context) (bool, error) {
		targets, err := s.targets(ctx)
		if err != nil {
			problem = err.Error()
			return false, nil
		}
		for _, t := range targets {
			switch before, seen := first[t.ScrapeURL]; {
			case t.Health != "up" && t.LastError != "":
				problem = t.LastError
			case !seen && t.LastScrape.After(since):
				first[t.ScrapeURL] = t.LastScrape
			case seen && t.LastScrape.After(before):
				delete(waiting, t.ScrapeURL)
			}
		}
		return len(waiting) == 0, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for prometheus to scrape %d of %d nodes (last problem: %q): %w", len(waiting), len(truths), problem, err)
	}
	return nil
}

// target is an element of GET /api/v1/targets.
type target struct {
	ScrapeURL  string    `json:"scrapeUrl"`
	LastScrape time.Time `json:"lastScrape"`
	LastError  string    `json:"lastError"`
	Health     string    `json:"health"`
}

func (s *Server) targets(ctx context.Context) ([]target, error) {
	var result struct {
		ActiveTargets []target `json:"activeTargets"`
	}
	err := s.get(ctx, "/api/v1/targets?state=active", &result)
	return slices.DeleteFunc(result.ActiveTargets, func(t target) bool { return !strings.Contains(t.ScrapeURL, "/metrics/nodes/") }), err
}

// get decodes the data in an API response.
func (s *Server) get(ctx context.Context, path string, data any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, nil)
	if err != nil {
		return err
	}
	response, err := s.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer := struct {
		Error string `json:"error"`
		Data  any    `json:"data"`
	}{Data: data}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return fmt.Errorf("reading the answer, status %d: %w", response.StatusCode, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d: %s", response.StatusCode, answer.Error)
	}
	return nil
}
