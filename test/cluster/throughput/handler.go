package throughput

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"

	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

const (
	// maxBody is the maximum size of a request from kube-scheduler.
	maxBody = 64 << 20
	// score is the score of every node.
	score = 5
	// MetricsPath is the path at which a handler reports the number of its requests and
	// their cost.
	MetricsPath = "/metrics"
	// AskedMetric counts the answers.
	AskedMetric = "neutral_requests_total"
)

// answer writes the reply to a request, or returns why the request is invalid.
type answer func(path string, body []byte, reply *bytes.Buffer) error

// NewHandler makes one of the handlers that decide nothing. It keeps every node and gives
// all nodes the same score.
func NewHandler(kind Handler) (http.Handler, error) {
	switch kind {
	case Decoding:
		return newNeutral(decode), nil
	case Echoing:
		return newNeutral(echo), nil
	case NoHandler, Evenkeel:
	}
	return nil, fmt.Errorf("unknown neutral handler %q", kind)
}

// neutral serves neutral answers and counts them.
type neutral struct {
	answer  answer
	asked   atomic.Int64
	buffers sync.Pool
}

func newNeutral(a answer) *neutral {
	return &neutral{answer: a, buffers: sync.Pool{New: func() any { return new(bytes.Buffer) }}}
}

func (n *neutral) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == MetricsPath {
		_, _ = fmt.Fprintf(w, "%s{} %d\n%s %f\n", AskedMetric, n.asked.Load(), cpuMetric, ownCPU().Seconds())
		return
	}
	body, reply := n.buffer(), n.buffer()
	defer n.buffers.Put(body)
	defer n.buffers.Put(reply)
	if _, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, maxBody)); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if err := n.answer(r.URL.Path, body.Bytes(), reply); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	n.asked.Add(1)
	w.Header().Set("Content-Type", "application/json")
	// With chunked encoding, kube-scheduler would leave the last chunk unread and open a new
	// connection for each request.
	w.Header().Set("Content-Length", strconv.Itoa(reply.Len()))
	_, _ = w.Write(reply.Bytes())
}

func (n *neutral) buffer() *bytes.Buffer {
	b, ok := n.buffers.Get().(*bytes.Buffer)
	if !ok {
		return new(bytes.Buffer)
	}
	b.Reset()
	return b
}

// decode uses the Kubernetes types, as most extenders do.
func decode(path string, body []byte, reply *bytes.Buffer) error {
	var args extenderv1.ExtenderArgs
	if err := json.Unmarshal(body, &args); err != nil {
		return fmt.Errorf("decoding the request: %w", err)
	}
	if args.NodeNames == nil {
		return errors.New("the request has no NodeNames")
	}
	if path == "/filter" {
		return json.NewEncoder(reply).Encode(extenderv1.ExtenderFilterResult{NodeNames: args.NodeNames})
	}
	list := make(extenderv1.HostPriorityList, 0, len(*args.NodeNames))
	for _, name := range *args.NodeNames {
		list = append(list, extenderv1.HostPriority{Host: name, Score: score})
	}
	return json.NewEncoder(reply).Encode(list)
}

var namesKey = []byte(`"NodeNames":[`)

// echo finds the node names and copies them. Quotes in a pod's strings are escaped, so
// the key occurs nowhere else, and node names contain no characters that JSON escapes.
func echo(path string, body []byte, reply *bytes.Buffer) error {
	_, names, found := bytes.Cut(body, namesKey)
	if !found {
		return errors.New("the request has no NodeNames")
	}
	if names, _, found = bytes.Cut(names, []byte{']'}); !found {
		return errors.New("the request's NodeNames have no end")
	}
	if path == "/filter" {
		reply.WriteString(`{"NodeNames":[`)
		reply.Write(names)
		reply.WriteString("]}\n")
		return nil
	}
	reply.WriteByte('[')
	for more := len(names) > 0; more; {
		var name []byte
		name, names, more = bytes.Cut(names, []byte{','})
		reply.WriteString(`{"Host":`)
		reply.Write(name)
		reply.WriteString(`,"Score":5}`)
		if more {
			reply.WriteByte(',')
		}
	}
	reply.WriteString("]\n")
	return nil
}
