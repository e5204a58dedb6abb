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
	// turns is how many waves a variant places in a round of those that run
	// side by side.
	turns = 4
	// catchUp is how long all of them have before a wave to hear of what the
	// last one has left.
	catchUp = 500 * time.Millisecond
)

// sideBySide are kube-schedulers that live until all is measured, and of which
// none has a processor while another one places pods. Their turns are seconds
// apart, so that what the machine gives them changes little from one to the
// next.
type sideBySide struct {
	*stage
	all []*scheduler
}

// startSideBySide starts those kube-schedulers that are compared for what is
// compiled into them.
func (s *stage) startSideBySide(ctx context.Context) (*sideBySide, error) {
	side := &sideBySide{stage: s}
	for _, v := range s.flags.variants {
		if !v.Own {
			continue
		}
		started, err := s.startScheduler(ctx, v)
		if err != nil {
			return nil, err
		}
		s.OnClose(started.process.Stop)
		side.all = append(side.all, started)
	}
	return side, nil
}

// round has each variant place its pods in turns: there, back, there, and back.
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

// wave has one of them place its share of a round's pods, and removes them.
func (s *sideBySide) wave(ctx context.Context, k *scheduler) (throughput.Figure, error) {
	select {
	case <-ctx.Done():
		return throughput.Figure{}, ctx.Err()
	case <-time.After(catchUp):
	}
	for _, other := range s.all { // whoever's turn it is, so that all are alike before theirs
		if err := s.waitScheduler(ctx, other); err != nil {
			return throughput.Figure{}, err
		}
	}
	count := max(2, s.flags.pods/turns)
	figure, err := s.measure(ctx, k, count, func(ctx context.Context) error {
		if err := s.pause(); err != nil {
			return err
		}
		return errors.Join(s.createPods(ctx, pods(k.variant, count)), k.process.Resume())
	})
	err = errors.Join(err, s.resume())
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

// avoided returns an error where a pod is on a hot node: no figure of a way
// that was not gone.
func (s *sideBySide) avoided(ctx context.Context) error {
	list, err := s.Cluster.Client().CoreV1().Pods(wave).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing what was placed: %w", err)
	}
	for i := range list.Items {
		if node := list.Items[i].Spec.NodeName; s.hot[node] {
			return fmt.Errorf("the plugin put %s on %s, which is hot", list.Items[i].Name, node)
		}
	}
	return nil
}
