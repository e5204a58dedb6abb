package throughput

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Bindings are the pods that were bound, as the API server's audit log tells
// it: to watch them would cost the API server and the machine more.
type Bindings struct {
	Count       int
	First, Last time.Time
	// rest is the beginning of a line that is not complete yet.
	rest []byte
}

// bindingMark stands in the lines of bindings, whatever else does.
var bindingMark = []byte(`"subresource":"binding"`)

// binding is what a line of the log says.
type binding struct {
	StageTimestamp time.Time `json:"stageTimestamp"`
	ObjectRef      struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// Read takes in what the log has grown by.
func (b *Bindings) Read(log io.Reader) error {
	grown, err := io.ReadAll(log)
	if err != nil {
		return fmt.Errorf("reading the audit log: %w", err)
	}
	text := append(b.rest, grown...)
	for {
		line, after, complete := bytes.Cut(text, []byte{'\n'})
		if !complete {
			b.rest = bytes.Clone(text)
			return nil
		}
		text = after
		if err := b.take(line); err != nil {
			return err
		}
	}
}

func (b *Bindings) take(line []byte) error {
	if !bytes.Contains(line, bindingMark) {
		return nil
	}
	var one binding
	if err := json.Unmarshal(line, &one); err != nil {
		return fmt.Errorf("reading a line of the audit log: %w", err)
	}
	if one.ObjectRef.Resource != "pods" || one.ObjectRef.Subresource != "binding" || one.ResponseStatus.Code != http.StatusCreated {
		return nil
	}
	if b.Count++; b.Count == 1 {
		b.First, b.Last = one.StageTimestamp, one.StageTimestamp
	}
	// The log is written by many at once, so it is not quite in order.
	if one.StageTimestamp.Before(b.First) {
		b.First = one.StageTimestamp
	}
	if one.StageTimestamp.After(b.Last) {
		b.Last = one.StageTimestamp
	}
	return nil
}

// PodsPerSecond is the rate from the first binding to the last.
func (b *Bindings) PodsPerSecond() (float64, error) {
	took := b.Last.Sub(b.First)
	if b.Count < 2 || took <= 0 {
		return 0, errors.New("two bindings at different times at least are needed for a rate")
	}
	return float64(b.Count-1) / took.Seconds(), nil
}
