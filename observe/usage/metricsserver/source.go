// Package metricsserver reads usage from the metrics.k8s.io API, as served by
// metrics-server: one LIST for nodes and one for pods per sample. It keeps no state and
// decides nothing. An incomplete list is an error, because an incomplete reading would
// make pods look idle. A node or pod that cannot be interpreted is left out and counted.
package metricsserver

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/access"
)

const basePath = "/apis/metrics.k8s.io/v1beta1/"

// Source reads usage.
type Source struct {
	env    access.Env
	client rest.Interface
}

// New returns a Source with its own rate limit at the API server.
func (*Config) New(env *access.Env) (access.Reader, error) {
	config := rest.CopyConfig(env.REST)
	config.QPS, config.Burst = float32(env.QueriesPerSecond), max(int(env.QueriesPerSecond), 2)
	config.ContentType = "application/json"
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion() // used only for error responses of the API server
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("making the metrics.k8s.io client: %w", err)
	}
	return &Source{env: *env, client: client}, nil
}

// Name returns the source's name.
func (s *Source) Name() string { return Name }

// Sample returns one reading of all nodes and pods.
func (s *Source) Sample(ctx context.Context, snapshot *cluster.Snapshot) (usage.Batch, error) {
	ctx, cancel := context.WithTimeout(ctx, s.env.Timeout)
	defer cancel()
	batch := roomFor(snapshot)
	batch.Source, batch.MaxAge = Name, s.env.MaxAge
	err := s.list(ctx, "nodes", func(item *item) {
		if used, ok := item.usage.amounts(); ok {
			batch.Nodes = append(batch.Nodes, usage.NodeSample{Name: item.name, Readings: usage.LastReadings(item.at, used)})
		} else {
			batch.Problems.Add(usage.Unreadable, "node "+item.name)
		}
	})
	if err != nil {
		return usage.Batch{}, err
	}
	namespace := ""
	err = s.list(ctx, "pods", func(item *item) {
		if namespace != item.namespace { // items are sorted by namespace: one string serves them all
			namespace = item.namespace
		}
		if used, ok := item.sum(); ok {
			batch.Pods = append(batch.Pods, usage.PodSample{Namespace: namespace, Name: item.name, Last: usage.Sample{At: item.at, Used: used}})
		} else {
			batch.Problems.Add(usage.Unreadable, "pod "+item.namespace+"/"+item.name)
		}
	})
	if err != nil {
		return usage.Batch{}, err
	}
	batch.Received = s.env.Now()
	return batch, nil
}

// roomFor returns a Batch with capacity for the whole cluster, because a slice that grows
// step by step leaves several times its size to the garbage collector.
func roomFor(snapshot *cluster.Snapshot) usage.Batch {
	if snapshot == nil {
		return usage.Batch{}
	}
	pods := 0
	for _, node := range snapshot.Nodes {
		pods += len(node.Pods)
	}
	return usage.Batch{Nodes: make([]usage.NodeSample, 0, len(snapshot.Nodes)), Pods: make([]usage.PodSample, 0, pods+pods/64)}
}

func (s *Source) list(ctx context.Context, what string, visit func(*item)) (err error) {
	body, err := s.client.Get().AbsPath(basePath+what).SetHeader("Accept", "application/json").Stream(ctx)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("listing metrics of %s: %w: is metrics-server installed?", what, err)
	case err != nil:
		return fmt.Errorf("listing metrics of %s: %w", what, err)
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	if err := decodeItems(body, visit); err != nil {
		return fmt.Errorf("reading metrics of %s: %w", what, err)
	}
	return nil
}
