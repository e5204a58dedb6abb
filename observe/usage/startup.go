package usage

import (
	"time"

	"github.com/evenkeel/evenkeel/cluster"
)

// A pod's usage while its containers start says little about its later usage.
// It becomes evidence once the samples taken after startup cover MinWindow. Until
// then, the pod counts for at most its estimate when its node is judged hot.
// Its real usage is still kept apart from usage outside pods, and still counts
// against its node as a destination.

// settledFrom returns the second from which samples of a pod are evidence. arrived and
// measured are the times of its newest sample.
func (s *Store) settledFrom(pod *cluster.Pod, now time.Time, arrived, measured uint32) uint32 {
	if s.config.Startup <= 0 {
		return 0
	}
	// Samples are stored by arrival time.
	return s.second(pod.NewestStart(now, s.config.Startup).Add(s.config.Startup)) + arrived - measured
}

// settle returns the mean of a pod since the given second. If that time reaches into the
// pod's startup, it returns the mean of the time after startup. starting reports whether
// the time after startup is shorter than MinWindow.
func (s *Store) settle(pod *cluster.Pod, ps *podSeries, now time.Time, since uint32, used cluster.Amounts, span time.Duration) (_ cluster.Amounts, _ time.Duration, starting bool) {
	from := s.settledFrom(pod, now, ps.used.newestAt, ps.newest.second)
	if s.config.Startup <= 0 || from+uint32(s.config.SampleInterval/time.Second) < since {
		return used, span, false
	}
	settled, span, ok := ps.settledMean(from)
	if !ok || span < s.config.MinWindow {
		return used, span, true
	}
	return settled, span, false
}

// starting reports whether a pod's startup is not over.
func (s *Store) starting(pod *cluster.Pod, second uint32) bool {
	return second < s.settledFrom(pod, s.time(second), second, second)
}

// settledMean returns the mean of the samples that cover no time before the given second.
// The first sample after that second is excluded, because it is a rate since the previous
// sample. A five-minute mean from a source covers the five minutes before it.
func (p *podSeries) settledMean(from uint32) (used cluster.Amounts, span time.Duration, ok bool) {
	reach := uint32(Avg5m.Over / time.Second)
	switch given := p.given.second; {
	case given == 0:
	case given >= from+reach:
		return p.mean(from)
	case given >= from:
		from = given + 1 // the ring holds this mean in place of a sample
	}
	_, span, ok = p.used.mean(from)
	if !ok {
		return used, 0, false
	}
	return p.used.mean(p.used.newestAt - uint32(span/time.Second) + 1)
}

// evidence returns the part of a pod's measured usage that counts as evidence that its
// node is hot. While the pod starts, this is at most its estimate.
func (p *PodUsage) evidence(measured, estimate cluster.Amounts) cluster.Amounts {
	if p.Starting {
		for k := range measured {
			measured[k] = min(measured[k], estimate[k])
		}
	}
	return measured
}
