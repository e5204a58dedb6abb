package soak

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Trace is a set of utilisation series of the same length, in percent of each one's own allocation, a value per step.
type Trace struct {
	Name   string
	Series [][]float32
}

const (
	// maxCells bounds what ReadTrace takes: 200 MB in memory.
	maxCells = 50_000_000
	// maxPercent is beyond what any recorder means; turbo clocks pass 100 by a little.
	maxPercent = 1000
)

// Steps is how long each series is.
func (t *Trace) Steps() int {
	if len(t.Series) == 0 {
		return 0
	}
	return len(t.Series[0])
}

// MeanPercent is the mean of all values.
func (t *Trace) MeanPercent() float64 {
	sum := 0.0
	for _, series := range t.Series {
		for _, value := range series {
			sum += float64(value)
		}
	}
	if cells := len(t.Series) * t.Steps(); cells > 0 {
		return sum / float64(cells)
	}
	return 0
}

// at is the value of a series at a step; both wrap around.
func (t *Trace) at(series, step int) float64 {
	values := t.Series[series%len(t.Series)]
	return float64(values[step%len(values)])
}

// ReadTrace reads a table with the header "id,0,1,2,…" and one series per row.
func ReadTrace(r io.Reader) (*Trace, error) {
	table := csv.NewReader(r)
	table.ReuseRecord = true
	header, err := table.Read()
	if err != nil {
		return nil, fmt.Errorf("reading the header of the trace: %w", err)
	}
	if len(header) < 2 || header[0] != "id" {
		return nil, errors.New(`reading the header of the trace: want "id" and at least one step`)
	}
	trace := &Trace{}
	for cells := 0; ; cells += len(header) - 1 {
		row, err := table.Read()
		switch {
		case errors.Is(err, io.EOF) && len(trace.Series) == 0:
			return nil, errors.New("reading the trace: it has no series")
		case errors.Is(err, io.EOF):
			return trace, nil
		case err != nil:
			return nil, fmt.Errorf("reading the trace: %w", err)
		case cells > maxCells:
			return nil, fmt.Errorf("reading the trace: more than %d values", maxCells)
		}
		series, err := parseSeries(row[1:])
		if err != nil {
			return nil, fmt.Errorf("reading series %q of the trace: %w", row[0], err)
		}
		trace.Series = append(trace.Series, series)
	}
}

func parseSeries(cells []string) ([]float32, error) {
	series := make([]float32, len(cells))
	for i, cell := range cells {
		value, err := strconv.ParseFloat(cell, 64)
		if err != nil || math.IsNaN(value) || value < 0 || value > maxPercent {
			return nil, fmt.Errorf("step %d: %q is no percentage from 0 to %d", i, cell, maxPercent)
		}
		series[i] = float32(value)
	}
	return series, nil
}

// OpenTrace reads a trace from a file, compressed by gzip or not.
func OpenTrace(path string) (*Trace, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening a trace: %w", err)
	}
	defer file.Close()
	buffered := bufio.NewReader(file)
	reader := io.Reader(buffered)
	if magic, err := buffered.Peek(2); err == nil && bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		if reader, err = gzip.NewReader(buffered); err != nil {
			return nil, fmt.Errorf("unpacking trace %q: %w", path, err)
		}
	}
	trace, err := ReadTrace(reader)
	if err != nil {
		return nil, fmt.Errorf("trace %q: %w", path, err)
	}
	trace.Name = strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".gz"), ".csv")
	return trace, nil
}

// FindTraces opens a CPU trace and, where there is one, the memory trace of the same set. The path is that of a CPU file or
// of a folder, from which the set with the most series is taken, the first by name among equals. The memory trace is nil
// where the set has none.
func FindTraces(path string) (cpu, memory *Trace, err error) {
	files := []string{path}
	if info, err := os.Stat(path); err != nil {
		return nil, nil, fmt.Errorf("looking for traces: %w", err)
	} else if info.IsDir() {
		if files, err = filepath.Glob(filepath.Join(path, "*.cpu.csv*")); err != nil {
			return nil, nil, fmt.Errorf("looking for traces: %w", err)
		}
	}
	chosen := ""
	for _, file := range slices.Sorted(slices.Values(files)) {
		trace, err := OpenTrace(file)
		if err != nil {
			return nil, nil, err
		}
		if cpu == nil || len(trace.Series) > len(cpu.Series) {
			cpu, chosen = trace, file
		}
	}
	if cpu == nil {
		return nil, nil, fmt.Errorf("looking for traces: folder %q has no *.cpu.csv or *.cpu.csv.gz", path)
	}
	twin := strings.Replace(chosen, ".cpu.csv", ".mem.csv", 1)
	if twin == chosen {
		return cpu, nil, nil
	}
	memory, err = OpenTrace(twin)
	if errors.Is(err, fs.ErrNotExist) {
		return cpu, nil, nil
	}
	return cpu, memory, err
}
