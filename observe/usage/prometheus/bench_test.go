package prometheus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
)

// These are the sizes of a large cluster.
const (
	manyNodes   = 5000
	podsPerNode = 30
)

func manyPods() []byte {
	var b bytes.Buffer
	b.WriteString(`{"status":"success","data":{"resultType":"vector","result":[`)
	for i := range manyNodes * podsPerNode {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"metric":{"namespace":"team-%d","pod":"web-%d-7d9fbc6c9b-%05x"},"value":[1772366400.123,"0.%d"]}`, i%200, i%3000, i, 10000000+i)
	}
	b.WriteString(`]}}`)
	return b.Bytes()
}

func manyInstances() []byte {
	var b bytes.Buffer
	b.WriteString(`{"status":"success","data":{"resultType":"vector","result":[`)
	for i := range manyNodes {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"metric":{"instance":"%s:9100","job":"node-exporter","namespace":"monitoring"},"value":[1772366400.123,"%d"]}`, address(i), 1772366390)
	}
	b.WriteString(`]}}`)
	return b.Bytes()
}

func address(i int) string { return fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255) }

// BenchmarkDecode measures this package's decoder with 150,000 series.
func BenchmarkDecode(b *testing.B) {
	body := manyPods()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		count := 0
		if _, err := decode(bytes.NewReader(body), vector, func(*series) { count++ }); err != nil || count != manyNodes*podsPerNode {
			b.Fatal(count, err)
		}
	}
}

// BenchmarkDecodeByEncodingJSON decodes the same with encoding/json, item by item.
func BenchmarkDecodeByEncodingJSON(b *testing.B) {
	body := manyPods()
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		decoder := json.NewDecoder(bytes.NewReader(body))
		for token, err := decoder.Token(); token != json.Delim('['); token, err = decoder.Token() {
			if err != nil {
				b.Fatal(err)
			}
		}
		count := 0
		for ; decoder.More(); count++ {
			var item struct {
				Metric struct{ Namespace, Pod string }
				Value  [2]any
			}
			if err := decoder.Decode(&item); err != nil {
				b.Fatal(err)
			}
		}
		if count != manyNodes*podsPerNode {
			b.Fatal(count)
		}
	}
}

// canned is a transport that answers from memory.
type canned struct{ pods, nodes []byte }

// RoundTrip implements http.RoundTripper.
func (c *canned) RoundTrip(r *http.Request) (*http.Response, error) {
	form, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	body := c.nodes
	if strings.Contains(string(form), "container_") {
		body = c.pods
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
}

// BenchmarkSample measures how the bytes of all answers become a Batch: two windows of cpu and
// memory for 5,000 nodes, and five minutes for 150,000 pods.
func BenchmarkSample(b *testing.B) {
	snapshot := &cluster.Snapshot{}
	for i := range manyNodes {
		snapshot.Nodes = append(snapshot.Nodes, &cluster.NodePods{Node: cluster.Node{
			Name: fmt.Sprintf("node-%05d", i), InternalIP: address(i), Capacity: cluster.Amounts{32_000, 128 * gib},
		}})
	}
	config := configFor("http://localhost")
	config.client = &http.Client{Transport: &canned{pods: manyPods(), nodes: manyInstances()}}
	config.Windows = []usage.Window{usage.Avg5m, {Kind: usage.KindQuantile, Percentile: 95, Over: usage.Avg5m.Over}}
	source := newSource(b, config)
	b.ReportAllocs()
	for b.Loop() {
		if batch := sample(b, source, snapshot); len(batch.Nodes) != manyNodes || len(batch.Pods) != manyNodes*podsPerNode {
			b.Fatalf("%d nodes, %d pods, %v", len(batch.Nodes), len(batch.Pods), batch.Problems)
		}
	}
}
