package soak

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/sim/trace"
)

// Trace holds utilization series of the same length, with one value per step, in percent
// of each series' own allocation.
type Trace = trace.Trace

// percentAt returns the value of a series in a step. Both indices wrap around.
func percentAt(t *Trace, series, step int) float64 {
	values := t.Series[series%len(t.Series)]
	return float64(values[step%len(values)])
}

// MeanPercent returns the mean of all values in a trace; 0 if there are none.
func MeanPercent(t *Trace) float64 {
	sum, n := 0.0, 0
	for _, series := range t.Series {
		n += len(series)
		for _, value := range series {
			sum += float64(value)
		}
	}
	return sum / float64(max(n, 1))
}

// FindTraces opens a CPU trace and, if there is one, the memory trace of the same set.
// The path is that of a CPU file or of a folder. From a folder, it takes the set with the
// most series; in case of a tie, the first by name. The memory trace is nil if the set
// has none.
func FindTraces(path string) (cpu, memory *Trace, err error) {
	files := []string{path}
	if info, err := os.Stat(path); err != nil {
		return nil, nil, fmt.Errorf("finding traces: %w", err)
	} else if info.IsDir() {
		if files, err = filepath.Glob(filepath.Join(path, "*.cpu.csv*")); err != nil {
			return nil, nil, fmt.Errorf("finding traces: %w", err)
		}
	}
	chosen := ""
	for _, file := range slices.Sorted(slices.Values(files)) {
		opened, err := trace.Open(file)
		if err != nil {
			return nil, nil, err
		}
		if cpu == nil || len(opened.Series) > len(cpu.Series) {
			cpu, chosen = opened, file
		}
	}
	if cpu == nil {
		return nil, nil, fmt.Errorf("finding traces: folder %q has no *.cpu.csv or *.cpu.csv.gz", path)
	}
	twin := strings.Replace(chosen, ".cpu.csv", ".mem.csv", 1)
	if twin == chosen {
		return cpu, nil, nil
	}
	memory, err = trace.Open(twin)
	if errors.Is(err, fs.ErrNotExist) {
		return cpu, nil, nil
	}
	return cpu, memory, err
}
