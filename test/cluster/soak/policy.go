package soak

import (
	"bytes"
	"fmt"

	"sigs.k8s.io/yaml"
)

// LinesOf reads the evict lines from a policy file. The shipped policy provides defaults.
func LinesOf(policy []byte) (Lines, error) {
	lines := Lines{CPUPercent: 65, MemoryPercent: 80}
	for document := range bytes.SplitSeq(policy, []byte("\n---")) {
		var read struct {
			Kind  string `json:"kind"`
			Lines struct {
				CPU, Memory struct {
					Evict *float64 `json:"evict"`
				}
			} `json:"lines"`
		}
		if err := yaml.Unmarshal(document, &read); err != nil {
			return Lines{}, fmt.Errorf("reading the policy's lines: %w", err)
		}
		if read.Kind != "LoadPolicy" {
			continue
		}
		if line := read.Lines.CPU.Evict; line != nil {
			lines.CPUPercent = *line
		}
		if line := read.Lines.Memory.Evict; line != nil {
			lines.MemoryPercent = *line
		}
	}
	return lines, nil
}
