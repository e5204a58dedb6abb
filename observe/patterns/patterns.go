// Package patterns stores the recurring usage patterns of workloads in a ConfigMap so
// that a new leader inherits them.
//
// Best effort: if reading or writing fails, the error is logged and the process
// learns the patterns anew.
package patterns

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

const (
	// Name is the name of the ConfigMap.
	Name = "evenkeel-patterns"
	// key is the ConfigMap's data key.
	key = "patterns"
	// most bounds the size of the data, because an object may be at most one MiB.
	most = 900 << 10
	// timeout bounds each call.
	timeout = 5 * time.Second
	// interval is how often patterns are stored: whenever a part of a day has
	// ended.
	interval = 30 * time.Minute
)

// Known holds the patterns known so far.
type Known interface {
	// Patterns encodes the known patterns in at most most bytes.
	Patterns(most int) []byte
	// AdoptPatterns takes over patterns that another process has learned.
	AdoptPatterns(data []byte) error
}

// Keeper stores patterns for the leading process.
type Keeper struct {
	Client    kubernetes.Interface
	Namespace string
	Known     Known
}

// Run adopts the stored patterns. It then stores the known patterns at intervals, and
// once more when the context ends.
func (k *Keeper) Run(ctx context.Context) error {
	logger := klog.FromContext(ctx)
	err := k.load(ctx)
	if err != nil {
		logger.Info("Reading the stored usage patterns failed, so they are learned anew", "configMap", klog.KRef(k.Namespace, Name), "error", err.Error())
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for done := false; !done; {
		select {
		case <-ctx.Done():
			done = true
		case <-ticker.C:
		}
		if errors.Is(err, errUnread) { // data that was not read is not overwritten
			err = k.load(context.WithoutCancel(ctx))
		}
		if errors.Is(err, errUnread) {
			logger.Info("Usage patterns are not stored, because their ConfigMap still cannot be read", "configMap", klog.KRef(k.Namespace, Name), "error", err.Error())
			continue
		}
		if err := k.save(context.WithoutCancel(ctx)); err != nil {
			logger.Info("What recurs was not stored in its ConfigMap", "configMap", klog.KRef(k.Namespace, Name), "error", err.Error())
		}
	}
	return nil
}

func (k *Keeper) load(ctx context.Context) error {
	object, err := k.get(ctx)
	if err != nil || object == nil || len(object.BinaryData[key]) == 0 {
		return err
	}
	return k.Known.AdoptPatterns(object.BinaryData[key])
}

var errUnread = errors.New("reading it failed")

// get returns the ConfigMap; nil if there is none.
func (k *Keeper) get(ctx context.Context) (*v1.ConfigMap, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	object, err := k.Client.CoreV1().ConfigMaps(k.Namespace).Get(ctx, Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnread, err)
	}
	return object, nil
}

func (k *Keeper) save(ctx context.Context) error {
	data := k.Known.Patterns(most)
	if len(data) == 0 {
		return nil
	}
	object, err := k.get(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if object == nil {
		object = &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: Name}, BinaryData: map[string][]byte{key: data}}
		_, err = k.Client.CoreV1().ConfigMaps(k.Namespace).Create(ctx, object, metav1.CreateOptions{})
		return err
	}
	if object.BinaryData == nil {
		object.BinaryData = map[string][]byte{}
	}
	object.BinaryData[key] = data
	_, err = k.Client.CoreV1().ConfigMaps(k.Namespace).Update(ctx, object, metav1.UpdateOptions{})
	return err
}
