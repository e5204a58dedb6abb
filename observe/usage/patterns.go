package usage

import (
	"time"

	"github.com/evenkeel/evenkeel/observe/forecast"
)

// Patterns encodes known patterns for another process in at most most bytes, as
// forecast.Store does. It returns nil if detection is off or nothing is known.
func (s *Store) Patterns(most int) []byte {
	w := &s.owners.workloads
	var all []forecast.Stored
	for key, known := range w.known {
		if p := known.Pattern(); p != nil && p.Periods > 0 && s.config.Recurs.Period > 0 {
			all = append(all, forecast.Stored{Key: uint64(key), Pattern: p, Without: known.without})
		}
	}
	return forecast.Store(all, most, s.config.Recurs, w.part)
}

// AdoptPatterns takes over patterns from another process for workloads that this process
// has observed for a shorter time. Data that is too old, or for another period, is left
// out. The error describes what is wrong with the data; in that case nothing is adopted.
func (s *Store) AdoptPatterns(data []byte, now time.Time) error {
	if len(data) == 0 {
		return nil
	}
	all, age, err := forecast.Restore(data, s.config.Recurs, now)
	if err != nil || len(all) == 0 || age > partsWithout {
		return err
	}
	if s.owners.part == 0 {
		s.owners.part = s.config.Recurs.Part(now.Unix())
	}
	s.owners.adopt(all, int32(age)) // at most partsWithout
	return nil
}

// adopt takes over patterns that were stored age parts ago.
func (w *workloads) adopt(all []forecast.Stored, age int32) {
	for _, s := range all {
		known, ok := w.known[Workload(s.Key)]
		if s.Without += age; s.Without > partsWithout {
			continue
		}
		if !ok {
			if len(w.known) >= mostWorkloads {
				continue
			}
			known = &workload{without: s.Without}
			w.known[Workload(s.Key)] = known
		}
		known.Adopt(s.Pattern)
	}
}

// InheritPatterns takes over another Store's knowledge of workloads if it looks
// for the same period.
func (s *Store) InheritPatterns(from *Store) {
	if s.config.Recurs != from.config.Recurs {
		return
	}
	for key, known := range from.owners.known {
		ours, ok := s.owners.known[key]
		if !ok {
			ours = &workload{}
			s.owners.known[key] = ours
		}
		ours.Recurrence, ours.without = known.Recurrence, known.without
	}
	s.owners.part = from.owners.part
}
