package answer

import (
	"slices"
	"time"
)

// ShadowSummary counts requests and placements since the process started.
type ShadowSummary struct {
	// Asked counts the requests answered neutrally; LastAsked is when the
	// newest came.
	Asked     int64     `json:"asked"`
	LastAsked time.Time `json:"lastAsked,omitzero"`
	// Pending counts the pods that have not been seen on a node yet.
	Pending int `json:"pending"`
	// Placements counts the others by comparison.
	Placements map[Comparison]int64 `json:"placements"`
}

// ShadowReport is the summary with the newest placements.
type ShadowReport struct {
	ShadowSummary
	// Recent lists the newest placements, newest first.
	Recent []Placement `json:"recent"`
}

// Summary returns the counts.
func (s *Shadow) Summary() ShadowSummary {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.summary()
}

// Report returns the counts and the newest placements.
func (s *Shadow) Report() ShadowReport {
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := append([]Placement{}, s.recent...)
	slices.Reverse(newest)
	return ShadowReport{ShadowSummary: s.summary(), Recent: newest}
}

func (s *Shadow) summary() ShadowSummary {
	summary := ShadowSummary{Asked: s.asked.Load(), Pending: s.pending.len(), Placements: map[Comparison]int64{}}
	if last := s.last.Load(); last != 0 {
		summary.LastAsked = time.Unix(last, 0).UTC()
	}
	for _, comparison := range Comparisons() {
		summary.Placements[comparison] = s.counts[comparison]
	}
	return summary
}
