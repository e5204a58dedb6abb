package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/hack/measure"
	"github.com/evenkeel/evenkeel/test/cluster/throughput"
)

const (
	// turns is the number of waves that a side-by-side variant places per round.
	turns = 4
	// catchUp is the time before a wave in which every process handles the removal of the
	// previous wave.
	catchUp = 500 * time.Millisecond
)

// sideBySide holds kube-schedulers that run until everything is measured. Each is paused
// while another one places pods. Their turns are seconds apart, so that the machine's
// speed varies little from one turn to the next.
type sideBySide struct {
	*stage
	all []*scheduler
}

// startSideBySide starts the kube-schedulers that place their pods in turns.
func (s *stage) startSideBySide(ctx context.Context) (*sideBySide, error) {
	side := &sideBySide{stage: s}
	for _, v := range s.flags.variants {
		if !v.SideBySide {
			continue
		}
		started, err := s.startScheduler(ctx, v)
		if err != nil {
			return nil, err
		}
		s.OnClose(started.process.Stop)
		side.all = append(side.all, started)
	}
	return side, s.leave(true)
}

// round makes the variants place their pods in turns, in alternating order.
func (s *sideBySide) round(ctx context.Context, number int) (map[string]throughput.Figure, error) {
	ctx, cancel := context.WithTimeout(ctx, roundWithin)
	defer cancel()
	waves := map[string][]throughput.Figure{}
	for turn := range turns {
		for _, k := range measure.Order(number+turn, s.all) {
			figure, err := s.wave(ctx, k)
			if err != nil {
				return nil, fmt.Errorf("turn %d of %q: %w", turn+1, k.variant.Name, err)
			}
			waves[k.variant.Name] = append(waves[k.variant.Name], figure)
		}
	}
	figures := map[string]throughput.Figure{}
	for name, of := range waves {
		figures[name] = throughput.Mean(of)
	}
	return figures, nil
}

// wave makes one kube-scheduler place its share of a round's pods, and removes the pods.
func (s *sideBySide) wave(ctx context.Context, k *scheduler) (throughput.Figure, error) {
	select {
	case <-ctx.Done():
		return throughput.Figure{}, ctx.Err()
	case <-time.After(catchUp):
	}
	for _, other := range s.all { // in every turn, so that all have the same starting conditions
		if err := s.waitScheduler(ctx, other); err != nil {
			return throughput.Figure{}, err
		}
	}
	count := max(2, s.flags.pods/turns)
	if err := s.leave(k.variant.Admission); err != nil {
		return throughput.Figure{}, err
	}
	figure, err := s.measure(ctx, k, count, func(ctx context.Context) error {
		if err := s.pause(); err != nil {
			return err
		}
		return errors.Join(s.createPods(ctx, pods(k.variant, count)), k.process.Resume())
	})
	err = errors.Join(err, s.resume(), s.leave(true))
	if err == nil && k.variant.Plugin {
		err = s.avoided(ctx)
	}
	return figure, errors.Join(err, s.removePods(ctx))
}

func (s *sideBySide) pause() error {
	var errs []error
	for _, k := range s.all {
		errs = append(errs, k.process.Pause())
	}
	return errors.Join(errs...)
}

func (s *sideBySide) resume() error {
	var errs []error
	for _, k := range s.all {
		errs = append(errs, k.process.Resume())
	}
	return errors.Join(errs...)
}

// avoided returns an error if a pod is on a hot node. A figure counts only if the plugin
// worked.
func (s *sideBySide) avoided(ctx context.Context) error {
	list, err := s.Cluster.Client().CoreV1().Pods(wave).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the placed pods: %w", err)
	}
	for i := range list.Items {
		if node := list.Items[i].Spec.NodeName; s.hot[node] {
			return fmt.Errorf("the plugin put %s on %s, which is hot", list.Items[i].Name, node)
		}
	}
	return nil
}
