package observer

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
)

// oracle is a Prometheus server with prepared answers about a cluster in which every pod is always
// busy.
type oracle struct {
	*httptest.Server
	nodes int
	// answers are selected by a part of their query; the first match is used.
	answers []*answer
}

// answer is a body and the positions of the timestamps in it.
type answer struct {
	key    string
	body   bytes.Buffer
	stamps []int
}

// stampText is a placeholder for a time: seconds in ten digits.
const stampText = "1772366400"

func newOracle(b *testing.B, nodes, pods int) *oracle {
	b.Helper()
	o := &oracle{nodes: nodes}
	o.addNodes("timestamp(", func(int) string { return stampText })
	o.addPods("container_cpu_usage_seconds_total", pods, func(i int) string { return fmt.Sprintf("0.%d", 10_000_000_000+i*37) })
	o.addPods("container_memory_working_set_bytes", pods, func(i int) string { return strconv.Itoa(1<<30 + i*4096) })
	o.addNodes("node_cpu_seconds_total", func(i int) string { return fmt.Sprintf("14.%d", 10_000_000_000+i*37) })
	o.addNodes("node_memory_MemTotal_bytes", func(i int) string { return strconv.Itoa(60<<30 + i*4096) })
	o.Server = httptest.NewServer(o)
	b.Cleanup(o.Close)
	return o
}

// ServeHTTP answers an instant query. There is no history.
func (o *oracle) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.FormValue("query")
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(r.URL.Path, "query_range") {
		_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"matrix","result":[]}}`))
		return
	}
	for _, a := range o.answers {
		if strings.Contains(query, a.key) {
			_, _ = w.Write(a.body.Bytes())
			return
		}
	}
	http.Error(w, "not expected: "+query, http.StatusBadRequest)
}

// addNodes adds an answer with a series for each node, labelled as an
// operator's ServiceMonitor labels them.
func (o *oracle) addNodes(key string, value func(int) string) {
	a := o.begin(key)
	for i := range o.nodes {
		a.add(fmt.Sprintf(`"container":"node-exporter","endpoint":"metrics","instance":"%s:9100","job":"node-exporter",`+
			`"namespace":"monitoring","pod":"node-exporter-%05x","service":"node-exporter"`, addressOf(i), i), value(i))
	}
	a.end()
}

// addPods adds an answer with a series for each pod, named as harbor.fleet
// names them.
func (o *oracle) addPods(key string, podsEach int, value func(int) string) {
	a := o.begin(key)
	for i := range o.nodes {
		for k := range podsEach {
			a.add(fmt.Sprintf(`"namespace":"ns","pod":"%s"`, podOf(i, k, o.nodes)), value(i*podsEach+k))
		}
	}
	a.end()
}

func (o *oracle) begin(key string) *answer {
	a := &answer{key: key}
	a.body.WriteString(`{"status":"success","data":{"resultType":"vector","result":[`)
	o.answers = append(o.answers, a)
	return a
}

func (a *answer) add(labels, value string) {
	if len(a.stamps) > 0 {
		a.body.WriteByte(',')
	}
	a.body.WriteString(`{"metric":{` + labels + `},"value":[`)
	a.stamps = append(a.stamps, a.body.Len())
	a.body.WriteString(stampText + `.123,"`)
	if value == stampText {
		a.stamps = append(a.stamps, a.body.Len())
	}
	a.body.WriteString(value + `"]}`)
}

func (a *answer) end() { a.body.WriteString(`]}}`) }

// proceed sets the time in all answers.
func (o *oracle) proceed(now time.Time) {
	text := strconv.FormatInt(now.Unix(), 10)
	for _, a := range o.answers {
		for _, at := range a.stamps {
			copy(a.body.Bytes()[at:], text)
		}
	}
}

// size returns how many bytes one observation reads. CPU and memory of nodes are each queried over
// two windows.
func (o *oracle) size() int {
	total := 0
	for _, a := range o.answers {
		total += a.body.Len()
		if strings.HasPrefix(a.key, "node_") {
			total += a.body.Len()
		}
	}
	return total
}

// held returns how much of the heap the answers occupy.
func (o *oracle) held() float64 {
	total := 0
	for _, a := range o.answers {
		total += a.body.Cap() + 8*cap(a.stamps)
	}
	return float64(total)
}

func addressOf(i int) string { return fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255) }
