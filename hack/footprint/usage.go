package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Usage of nodes and pods. Every tenth node is hot because of its pods' usage, and moving
// a few pods cools it.
const (
	podMilli    = 250
	hotPodMilli = 830
	podBytes    = 640 << 20
	ownMilli    = 800
	ownBytes    = 6 << 30
	scrapeAge   = 10 * time.Second
)

func isHot(node int) bool { return node%10 == 9 }

func podMilliOn(node int) int {
	if isHot(node) {
		return hotPodMilli
	}
	return podMilli
}

func (f *fleet) nodeMilli(node int) int { return ownMilli + podMilliOn(node)*f.podsPerNode }
func (f *fleet) nodeBytes() int         { return ownBytes + podBytes*f.podsPerNode }

// nodeMetrics answers as metrics-server does.
func (s *server) nodeMetrics(w http.ResponseWriter, _ *http.Request) {
	at := time.Now().Add(-scrapeAge).UTC().Format(time.RFC3339)
	items(w, `{"kind":"NodeMetricsList","apiVersion":"metrics.k8s.io/v1beta1","metadata":{},"items":[`, `]}`, s.nodes, func(out io.Writer, i int) {
		fmt.Fprintf(out, `{"metadata":{"name":%q,"creationTimestamp":%q},"timestamp":%[2]q,"window":"15s","usage":{"cpu":"%[3]dn","memory":"%[4]dKi"}}`,
			nodeName(i), at, s.nodeMilli(i)*1_000_000+i, s.nodeBytes()>>10)
	})
}

func (s *server) podMetrics(w http.ResponseWriter, _ *http.Request) {
	at := time.Now().Add(-scrapeAge).UTC().Format(time.RFC3339)
	const container = `{"name":"%s","usage":{"cpu":"%dn","memory":"%dKi"}}`
	items(w, `{"kind":"PodMetricsList","apiVersion":"metrics.k8s.io/v1beta1","metadata":{},"items":[`, `]}`, s.pods(), func(out io.Writer, i int) {
		fmt.Fprintf(out, `{"metadata":{"name":%q,"namespace":%q,"creationTimestamp":%q,"labels":{"app.kubernetes.io/name":"service-%05d","pod-template-hash":"6c9f4d7b8"}},`+
			`"timestamp":%[3]q,"window":"15s","containers":[`, s.podName(i), s.namespace(i), at, s.workload(i))
		fmt.Fprintf(out, container+","+container+"]}", "main", podMilliOn(i/s.podsPerNode)*800_000+i, podBytes*8/10>>10, "proxy", podMilliOn(i/s.podsPerNode)*200_000, podBytes*2/10>>10)
	})
}

// query answers the default queries of a Prometheus source.
func (s *server) query(w http.ResponseWriter, r *http.Request) {
	query, now := r.FormValue("query"), time.Now()
	kind, ok := s.answer(query, now)
	if !ok {
		http.Error(w, "not expected: "+query, http.StatusBadRequest)
		return
	}
	count, labels := s.nodes, func(out io.Writer, i int) {
		fmt.Fprintf(out, `"container":"node-exporter","endpoint":"metrics","instance":"%s:9100","job":"node-exporter","namespace":"monitoring","pod":"node-exporter-%05x"`, address(i), i)
	}
	if kind.ofPods {
		count, labels = s.pods(), func(out io.Writer, i int) { fmt.Fprintf(out, `"namespace":%q,"pod":%q`, s.namespace(i), s.podName(i)) }
	}
	stamp := float64(now.UnixMilli()) / 1000
	items(w, `{"status":"success","data":{"resultType":"vector","result":[`, `]}}`, count, func(out io.Writer, i int) {
		_, _ = io.WriteString(out, `{"metric":{`)
		labels(out, i)
		fmt.Fprintf(out, `},"value":[%.3f,"%s"]}`, stamp, kind.value(i))
	})
}

// answered holds what a query selects, and the value of each series.
type answered struct {
	key    string
	ofPods bool
	value  func(i int) string
}

// answer finds the series that a query selects.
func (s *server) answer(query string, now time.Time) (answered, bool) {
	always := func(value int) func(int) string { return func(int) string { return strconv.Itoa(value) } }
	for _, known := range []answered{
		{"timestamp(", false, always(int(now.Add(-scrapeAge).Unix()))},
		{"container_cpu_usage_seconds_total", true, func(i int) string { return cores(podMilliOn(i / s.podsPerNode)) }},
		{"container_memory_working_set_bytes", true, always(podBytes)},
		{"node_cpu_seconds_total", false, func(i int) string { return cores(s.nodeMilli(i)) }},
		{"node_memory_MemTotal_bytes", false, always(s.nodeBytes())},
	} {
		if strings.Contains(query, known.key) {
			return known, true
		}
	}
	return answered{}, false
}

func cores(milli int) string { return fmt.Sprintf("%.6f", float64(milli)/1000) }

// queryRange answers that there is no history.
func (s *server) queryRange(w http.ResponseWriter, _ *http.Request) {
	items(w, `{"status":"success","data":{"resultType":"matrix","result":[`, `]}}`, 0, nil)
}

// items writes a JSON list item by item.
func items(w http.ResponseWriter, head, foot string, count int, item func(out io.Writer, i int)) {
	w.Header().Set("Content-Type", "application/json")
	out := bufio.NewWriterSize(w, 64<<10)
	_, _ = out.WriteString(head)
	for i := range count {
		if i > 0 {
			_ = out.WriteByte(',')
		}
		item(out, i)
	}
	_, _ = out.WriteString(foot)
	_ = out.Flush()
}
