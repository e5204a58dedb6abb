package recording

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/evenkeel/evenkeel/internal/jsonscan"
)

const (
	// maxLineBytes is the maximum size of a line. The first reading of 800,000 pods is
	// smaller.
	maxLineBytes = 32 << 20
	// maxObjectBytes and maxObjectValues limit all lines except readings. maxObjectBytes is
	// more than etcd accepts. maxObjectValues bounds lists, because three bytes of text can
	// become a hundred in memory.
	maxObjectBytes  = 2 << 20
	maxObjectValues = 20_000
	// maxKept bounds the number of values in all nodes and templates together. It
	// corresponds to about 800 MB for a file crafted to fill memory, and to far less for
	// others.
	maxKept = 12_000_000
	// If data unpacks to more than maxUnpacked bytes, it must not exceed maxRatio times its
	// packed size. Recordings and traces compress to a tenth; a file crafted to exhaust
	// memory or time compresses to a thousandth.
	maxUnpacked = 256 << 20
	maxRatio    = 100
)

// decoder reads a recording line by line.
type decoder struct {
	taker

	in     *bufio.Reader
	line   int
	begun  bool
	kept   int
	buffer []byte
}

// Read reads a recording, compressed or not. An error contains the line number, counted
// from 1. A truncated recording is read up to its last complete reading.
func Read(r io.Reader) (*Recording, error) {
	unpacked, err := Unpack(r)
	if err != nil {
		return nil, err
	}
	d := decoder{in: bufio.NewReaderSize(unpacked, 1<<16), taker: taker{out: &Recording{}, named: map[string]bool{}}}
	for d.line = 1; ; d.line++ {
		text, err := d.next()
		if cut := cutBy(err); cut != "" {
			return d.end(cut, len(text) > 0 || !errors.Is(err, io.EOF))
		}
		if err == nil {
			err = d.take(text)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", d.line, err)
		}
	}
}

// Unpack reads data that may be compressed by gzip.
func Unpack(r io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(r)
	if magic, err := buffered.Peek(2); err != nil || !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return buffered, nil //nolint:nilerr // a file this short is not gzip; reading on reports what it lacks
	}
	packed := &counted{in: buffered}
	unpacked, err := gzip.NewReader(packed)
	if err != nil {
		return nil, fmt.Errorf("line 1: not gzip after all: %w", err)
	}
	return &bounded{counted: counted{in: unpacked}, packed: packed}, nil
}

// counted counts the bytes that are read.
type counted struct {
	in io.Reader
	n  int64
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.n += int64(n)
	return n, err //nolint:wrapcheck // it is a reader
}

// bounded reads unpacked data up to a limit.
type bounded struct {
	counted

	packed *counted
}

// Read implements io.Reader. It fails if a small input unpacks to too much data.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.counted.Read(p)
	if b.n > maxUnpacked && b.n > maxRatio*b.packed.n {
		return 0, fmt.Errorf("the compressed file unpacks to more than %d MB, over %d times its size", maxUnpacked>>20, maxRatio)
	}
	return n, err
}

// cutBy describes how an error truncates a recording; empty for other errors.
func cutBy(err error) string {
	switch {
	case errors.Is(err, io.EOF):
		return "the last line is incomplete"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the compressed file is truncated"
	}
	return ""
}

// next returns the next line without its line break. On an error, it also returns the
// part of the line that could be read.
func (d *decoder) next() ([]byte, error) {
	d.buffer = d.buffer[:0]
	for {
		part, err := d.in.ReadSlice('\n')
		d.buffer = append(d.buffer, part...)
		switch {
		case len(d.buffer) > maxLineBytes:
			return nil, fmt.Errorf("longer than %d bytes", maxLineBytes)
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return d.buffer, err
		default:
			return d.buffer[:len(d.buffer)-1], nil
		}
	}
}

// end completes a recording after its last line.
func (d *decoder) end(cut string, early bool) (*Recording, error) {
	switch {
	case d.line == 1 && !early:
		return nil, errors.New("line 1: the recording is empty")
	case d.out.Readings == 0:
		return nil, fmt.Errorf("line %d: the recording ends without a reading", d.line)
	}
	if early {
		d.out.Cut = fmt.Sprintf("line %d: %s", d.line, cut)
	}
	d.out.Pods = d.out.Pods[:d.arrived] // the reading that places the other pods is missing
	return d.out, nil
}

func (d *decoder) take(text []byte) error {
	var l line
	var of any = &l
	values := jsonscan.Values(text)
	if tooLarge(text) {
		if !bytes.HasPrefix(text, []byte(`{"reading":`)) {
			return fmt.Errorf("%d bytes and %d values in what is no reading: must be at most %d and %d", len(text), values, maxObjectBytes, maxObjectValues)
		}
		of = &struct { // only readings may have lines of this length
			Reading **readingLine `json:"reading"`
		}{&l.Reading}
	}
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if err := strict.Decode(of); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return errors.New("not a complete JSON object")
		}
		return err
	}
	if strict.More() {
		return errors.New("more than one JSON object")
	}
	if l.Node != nil || l.Template != nil {
		if d.kept += values; d.kept > maxKept {
			return fmt.Errorf("more than %d values in all nodes and templates", maxKept)
		}
	}
	if !d.begun {
		return d.header(&l)
	}
	return d.record(&l)
}

// tooLarge reports whether a line is too large for anything except a reading.
func tooLarge(text []byte) bool {
	return len(text) > maxObjectBytes || jsonscan.Values(text) > maxObjectValues
}

func (d *decoder) header(l *line) error {
	h := l.Header
	switch {
	case h == nil || l.count() != 1:
		return errors.New("no header: this is not a recording")
	case h.Version != Version:
		return fmt.Errorf("version %d: must be %d", h.Version, Version)
	case h.IntervalSeconds < 1 || h.IntervalSeconds > int(Mean/time.Second):
		return fmt.Errorf("an interval of %d seconds: must be 1 to %v", h.IntervalSeconds, Mean.Seconds())
	}
	d.out.Header, d.begun = *h, true
	return nil
}

func (l *line) count() int {
	n := 0
	for _, set := range []bool{l.Header != nil, l.Node != nil, l.Template != nil, l.Pod != nil, l.Reading != nil} {
		if set {
			n++
		}
	}
	return n
}

func (d *decoder) record(l *line) error {
	switch {
	case l.count() != 1:
		return fmt.Errorf("%d of node, template, pod and reading: must be one", l.count())
	case l.Node != nil:
		return d.node(l.Node)
	case l.Template != nil:
		return d.template(l.Template)
	case l.Pod != nil:
		return d.pod(l.Pod)
	case l.Reading != nil:
		return d.reading(l.Reading)
	}
	return errors.New("a second header")
}
