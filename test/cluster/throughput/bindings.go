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

// Bindings counts bound pods using the API server's audit log, because a watch would put
// more load on the API server and the machine.
type Bindings struct {
	Count       int
	First, Last time.Time
	// partial is the beginning of an incomplete line.
	partial []byte
}

// bindingMark occurs in every line about a binding.
var bindingMark = []byte(`"subresource":"binding"`)

// binding is a line of the log about a binding.
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

// Read reads what was appended to the log.
func (b *Bindings) Read(log io.Reader) error {
	grown, err := io.ReadAll(log)
	if err != nil {
		return fmt.Errorf("reading the audit log: %w", err)
	}
	text := append(b.partial, grown...)
	for {
		line, after, complete := bytes.Cut(text, []byte{'\n'})
		if !complete {
			b.partial = bytes.Clone(text)
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
	// Several goroutines write the log, so it is not quite in order.
	if one.StageTimestamp.Before(b.First) {
		b.First = one.StageTimestamp
	}
	if one.StageTimestamp.After(b.Last) {
		b.Last = one.StageTimestamp
	}
	return nil
}

// PodsPerSecond returns the rate between the first binding and the last.
func (b *Bindings) PodsPerSecond() (float64, error) {
	took := b.Last.Sub(b.First)
	if b.Count < 2 || took <= 0 {
		return 0, errors.New("computing a rate: fewer than two bindings at different times")
	}
	return float64(b.Count-1) / took.Seconds(), nil
}
