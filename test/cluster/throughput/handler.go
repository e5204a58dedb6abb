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
	// maxBody bounds a request of kube-scheduler.
	maxBody = 64 << 20
	// score is the score of every node.
	score = 5
	// MetricsPath is where a handler reports its number of requests and their
	// cost.
	MetricsPath = "/metrics"
	// AskedMetric counts the answers.
	AskedMetric = "neutral_requests_total"
)

// answer writes the reply to one request, or returns what is wrong with it.
type answer func(path string, body []byte, reply *bytes.Buffer) error

// NewHandler makes one of the handlers that decide nothing. It keeps every node and gives
// each the same score.
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

// neutral answers and counts.
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
	// With chunks, kube-scheduler would leave the last one unread and open a
	// new connection each time.
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

// decode uses the Kubernetes types, as extenders usually do.
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

// echo finds the names and copies them. Quotes within a pod's texts are
// escaped, so the key occurs nowhere else, and names of nodes contain nothing
// that JSON escapes.
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
