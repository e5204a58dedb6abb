// Package metricsserver reads usage from the metrics.k8s.io API, as metrics-server serves it: one LIST for nodes and one
// for pods per sample. It keeps no state and decides nothing; a reading that fails in part is an error, because half a
// reading would pass pods off as idle.
package metricsserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/usage"
)

// Name is the source's name in policies, output and metrics.
const Name = "MetricsServer"

const basePath = "/apis/metrics.k8s.io/v1beta1/"

// Config says how to reach the API.
type Config struct {
	// REST is the API server; its QPS and Burst hold for this source alone.
	REST *rest.Config
	// QueriesPerSecond bounds the requests; Timeout bounds one.
	QueriesPerSecond float32
	Timeout          time.Duration
	// Now tells when a reading arrived.
	Now func() time.Time
}

// Source reads usage.
type Source struct {
	config Config
	client rest.Interface
}

// New returns a Source.
func New(config Config) (*Source, error) {
	if config.REST == nil || config.Now == nil || config.QueriesPerSecond <= 0 || config.Timeout <= 0 {
		return nil, errors.New("metrics-server source: REST, Now, QueriesPerSecond and Timeout must be set")
	}
	restConfig := rest.CopyConfig(config.REST)
	restConfig.QPS, restConfig.Burst = config.QueriesPerSecond, max(int(config.QueriesPerSecond), 2)
	restConfig.ContentType = "application/json"
	client, err := rest.UnversionedRESTClientFor(withCodec(restConfig))
	if err != nil {
		return nil, fmt.Errorf("making the metrics.k8s.io client: %w", err)
	}
	return &Source{config: config, client: client}, nil
}

// Sample returns one reading of all nodes and pods.
func (s *Source) Sample(ctx context.Context) (usage.Batch, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	batch := usage.Batch{Source: Name}
	err := s.list(ctx, "nodes", func(item *item) error {
		sample, err := item.sample(item.Usage)
		batch.Nodes = append(batch.Nodes, usage.NodeSample{Name: item.Metadata.Name, Sample: sample})
		return err
	})
	if err != nil {
		return usage.Batch{}, err
	}
	err = s.list(ctx, "pods", func(item *item) error {
		sample, err := item.sample(item.containers()...)
		batch.Pods = append(batch.Pods, usage.PodSample{
			Namespace: item.Metadata.Namespace, Name: item.Metadata.Name, Sample: sample,
		})
		return err
	})
	if err != nil {
		return usage.Batch{}, err
	}
	batch.Received = s.config.Now()
	return batch, nil
}

func (s *Source) list(ctx context.Context, what string, visit func(*item) error) (err error) {
	body, err := s.client.Get().AbsPath(basePath+what).SetHeader("Accept", "application/json").Stream(ctx)
	if err != nil {
		return fmt.Errorf("listing metrics of %s: %w", what, err)
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	if err := decodeItems(body, visit); err != nil {
		return fmt.Errorf("reading metrics of %s: %w", what, err)
	}
	return nil
}

// item is what is read of a NodeMetrics or PodMetrics.
type item struct {
	Metadata struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
	} `json:"metadata"`
	Timestamp  time.Time         `json:"timestamp"`
	Usage      map[string]string `json:"usage"`
	Containers []struct {
		Usage map[string]string `json:"usage"`
	} `json:"containers"`
}

func (i *item) containers() []map[string]string {
	usages := make([]map[string]string, len(i.Containers))
	for k := range i.Containers {
		usages[k] = i.Containers[k].Usage
	}
	return usages
}

func (i *item) sample(usages ...map[string]string) (usage.Sample, error) {
	sample := usage.Sample{At: i.Timestamp}
	for _, used := range usages {
		for r, read := range map[cluster.Resource]func(*resource.Quantity) int64{
			cluster.CPU:    (*resource.Quantity).MilliValue,
			cluster.Memory: (*resource.Quantity).Value,
		} {
			text, ok := used[r.String()]
			if !ok {
				return usage.Sample{}, fmt.Errorf("metrics of %q have no %s", i.Metadata.Name, r)
			}
			quantity, err := resource.ParseQuantity(text)
			if err != nil {
				return usage.Sample{}, fmt.Errorf("metrics of %q: %s %q: %w", i.Metadata.Name, r, text, err)
			}
			sample.Used[r] += read(&quantity)
		}
	}
	return sample, nil
}

// decodeItems decodes the items of a list one by one, so that a list of a large cluster is never held whole.
func decodeItems(body io.Reader, visit func(*item) error) error {
	decoder := json.NewDecoder(body)
	if err := expect(decoder, json.Delim('{')); err != nil {
		return err
	}
	found := false
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return fmt.Errorf("decoding the list: %w", err)
		}
		if key != "items" {
			if err := decoder.Decode(new(json.RawMessage)); err != nil {
				return fmt.Errorf("decoding %q of the list: %w", key, err)
			}
			continue
		}
		found = true
		if err := decodeArray(decoder, visit); err != nil {
			return err
		}
	}
	if !found {
		return errors.New("decoding the list: it has no items")
	}
	return expect(decoder, json.Delim('}'))
}

func decodeArray(decoder *json.Decoder, visit func(*item) error) error {
	token, err := decoder.Token()
	if err != nil {
		return fmt.Errorf("decoding the items: %w", err)
	}
	if token == nil {
		return nil // null: an empty list
	}
	if token != json.Delim('[') {
		return fmt.Errorf("decoding the items: expected an array, got %v", token)
	}
	for decoder.More() {
		var it item
		if err := decoder.Decode(&it); err != nil {
			return fmt.Errorf("decoding an item: %w", err)
		}
		if err := visit(&it); err != nil {
			return err
		}
	}
	return expect(decoder, json.Delim(']'))
}

func expect(decoder *json.Decoder, want json.Delim) error {
	token, err := decoder.Token()
	if err != nil {
		return fmt.Errorf("decoding the list: %w", err)
	}
	if token != want {
		return fmt.Errorf("decoding the list: expected %q, got %v", want, token)
	}
	return nil
}
