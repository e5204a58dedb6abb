package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// Age makes the pods of a namespace older by changing them directly in etcd, because the
// API server does not let clients set an object's creation time. Watches report the
// changes.
func (c *Cluster) Age(ctx context.Context, namespace string, by time.Duration) error {
	prefix := []byte("/registry/pods/" + namespace + "/")
	end := bytes.Clone(prefix)
	end[len(end)-1]++
	var stored struct {
		Kvs []storedValue `json:"kvs"`
	}
	if err := c.etcd(ctx, "/v3/kv/range", map[string]any{"key": prefix, "range_end": end}, &stored); err != nil {
		return fmt.Errorf("reading the pods of namespace %q from etcd: %w", namespace, err)
	}
	var failed []error
	for i := range stored.Kvs {
		if err := c.agePod(ctx, &stored.Kvs[i], by); err != nil {
			failed = append(failed, fmt.Errorf("aging %s: %w", stored.Kvs[i].Key, err))
		}
	}
	return errors.Join(failed...)
}

// storedValue is a value in etcd and the revision that last changed it.
type storedValue struct {
	Key, Value []byte
	Revision   json.Number `json:"mod_revision"`
}

// agePod fails if the pod has changed since it was read.
func (c *Cluster) agePod(ctx context.Context, stored *storedValue, by time.Duration) error {
	codec := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	object, _, err := codec.Decode(stored.Value, nil, nil)
	if err != nil {
		return err
	}
	pod, ok := object.(*v1.Pod)
	if !ok {
		return fmt.Errorf("it is a %T", object)
	}
	pod.SetGroupVersionKind(v1.SchemeGroupVersion.WithKind("Pod"))
	pod.CreationTimestamp = metav1.NewTime(pod.CreationTimestamp.Add(-by))
	if started := pod.Status.StartTime; started != nil {
		pod.Status.StartTime = new(metav1.NewTime(started.Add(-by)))
	}
	for i := range pod.Status.Conditions {
		condition := &pod.Status.Conditions[i]
		condition.LastTransitionTime = metav1.NewTime(condition.LastTransitionTime.Add(-by))
	}
	var older bytes.Buffer
	if err := codec.Encode(pod, &older); err != nil {
		return err
	}
	var answer struct {
		Succeeded bool `json:"succeeded"`
	}
	err = c.etcd(ctx, "/v3/kv/txn", map[string]any{
		"compare": []any{map[string]any{"key": stored.Key, "target": "MOD", "result": "EQUAL", "mod_revision": stored.Revision}},
		"success": []any{map[string]any{"request_put": map[string]any{"key": stored.Key, "value": older.Bytes()}}},
	}, &answer)
	if err == nil && !answer.Succeeded {
		err = errors.New("it has changed meanwhile")
	}
	return err
}
