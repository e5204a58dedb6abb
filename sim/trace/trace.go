// Package trace reads recorded utilization: tables of series with one value per step, in
// percent of the series' own allocation.
//
// It checks whether a table is valid and reports the line and column of an error. Callers
// decide how to use the series.
//
// Format: CSV, compressed by gzip or not, with the header "id,0,1,2,…" and one row
// "<id>,<v0>,<v1>,…" per series. Values are 0 to MaxPercent; no cell is empty.
package trace

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/evenkeel/evenkeel/sim/recording"
)

const (
	// MaxPercent is more than any recorder reports; turbo clocks slightly exceed 100.
	MaxPercent = 1000
	// maxRowBytes bounds the size of a row and therefore, because the header is one, the
	// number of steps. Reading a row takes several times its size.
	maxRowBytes = 16 << 20
	// maxBytes bounds the memory for all rows. Each row takes rowBytes in addition to its
	// values and its name.
	maxBytes = 400_000_000
	rowBytes = 100
	// maxSeries is the maximum number of series; each drives a pod.
	maxSeries = 500_000
)

// Trace is a set of series of the same length.
type Trace struct {
	// Name is the name of the file without extensions.
	Name string
	// IDs holds the names of the series, in the order of Series.
	IDs []string
	// Series holds one value per step for each series, in percent of its own allocation.
	Series [][]float32
	// Deploys is known only for generated traces.
	Deploys []Deploy
}

// Deploy is a step in which the programs of Count series, starting with First, are
// redeployed.
type Deploy struct{ First, Count, Step int }

// Steps returns the length of each series.
func (t *Trace) Steps() int {
	if t == nil || len(t.Series) == 0 {
		return 0
	}
	return len(t.Series[0])
}

// Open reads a trace from a file.
func Open(path string) (*Trace, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening a trace: %w", err)
	}
	defer func() { _ = file.Close() }()
	trace, err := Read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	trace.Name = strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".gz"), ".csv")
	return trace, nil
}

// Read reads a trace. An error names the line, counted from 1.
func Read(r io.Reader) (*Trace, error) {
	unpacked, err := recording.Unpack(r)
	if err != nil {
		return nil, err
	}
	rows := &rowReader{in: unpacked, most: maxRowBytes}
	rows.table = csv.NewReader(rows)
	rows.table.ReuseRecord = true
	table := rows.table
	header, err := rows.next()
	if err != nil {
		return nil, tableError(table, 1, err)
	}
	if len(header) < 2 || header[0] != "id" || slices.ContainsFunc(header[1:], isNoNumber) {
		return nil, fmt.Errorf(`line 1: the header is %.40q: must be "id" and one number per step`, strings.Join(header, ","))
	}
	return readRows(rows, len(header)-1, maxBytes)
}

// rowReader reads a table and bounds the length of its rows, however many lines a row
// has.
type rowReader struct {
	table      *csv.Reader
	in         io.Reader
	left, most int
}

var errLongRow = errors.New("a row is too long")

// next reads a row. The csv.Reader may read ahead by at most its buffer, which is small.
func (r *rowReader) next() ([]string, error) {
	r.left = r.most
	return r.table.Read() //nolint:wrapcheck // tableError does
}

// Read implements io.Reader for the csv.Reader.
func (r *rowReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, errLongRow
	}
	n, err := r.in.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err //nolint:wrapcheck // tableError does
}

// readRows reads rows. It fails if they take more memory than limit.
func readRows(rows *rowReader, steps, limit int) (*Trace, error) {
	trace, table, kept := &Trace{}, rows.table, 0
	for line := 2; ; line++ {
		row, err := rows.next()
		switch {
		case errors.Is(err, io.EOF) && len(trace.Series) == 0:
			return nil, fmt.Errorf("line %d: the trace ends without a series", line)
		case errors.Is(err, io.EOF):
			return trace, nil
		case err != nil:
			return nil, tableError(table, line, err)
		}
		at, _ := table.FieldPos(0)
		if kept += 4*steps + len(row[0]) + rowBytes; kept > limit {
			return nil, fmt.Errorf("line %d: the series up to here take more than %d MB in memory", at, limit/1_000_000)
		}
		if len(trace.Series) == maxSeries {
			return nil, fmt.Errorf("line %d: more than %d series", at, maxSeries)
		}
		series, err := parseSeries(row[1:])
		if err != nil {
			return nil, fmt.Errorf("line %d: series %.60q: %w", at, row[0], err)
		}
		trace.IDs, trace.Series = append(trace.IDs, strings.Clone(row[0])), append(trace.Series, series)
	}
}

// tableError adds the position to an error about a broken table.
func tableError(table *csv.Reader, line int, err error) error {
	if broken, ok := errors.AsType[*csv.ParseError](err); ok {
		if errors.Is(err, csv.ErrFieldCount) {
			return fmt.Errorf("line %d: must have as many cells as the header, %d", broken.Line, table.FieldsPerRecord)
		}
		if broken.StartLine != broken.Line {
			return fmt.Errorf("line %d: a row that begins here continues to line %d: %w", broken.StartLine, broken.Line, broken.Err)
		}
		return fmt.Errorf("line %d, column %d: %w", broken.Line, broken.Column, broken.Err)
	}
	switch {
	case errors.Is(err, errLongRow):
		return fmt.Errorf("line %d: a row is longer than %d bytes", line, maxRowBytes)
	case errors.Is(err, io.EOF):
		return fmt.Errorf("line %d: the trace is empty", line)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("line %d: the compressed file is truncated", line)
	}
	return fmt.Errorf("line %d: %w", line, err)
}

func parseSeries(cells []string) ([]float32, error) {
	series := make([]float32, len(cells))
	for i, cell := range cells {
		value, err := strconv.ParseFloat(cell, 64)
		if err != nil || isNoNumber(cell) || value < 0 || value > MaxPercent {
			return nil, fmt.Errorf("step %d: %.40q is not a percentage from 0 to %d", i, cell, MaxPercent)
		}
		series[i] = float32(value)
	}
	return series, nil
}

// isNoNumber reports whether a cell is not written in decimal digits.
func isNoNumber(cell string) bool {
	return cell == "" || strings.Trim(cell, "0123456789.+-eE") != ""
}
