package main

import (
	"context"
	"fmt"
	"io"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// restConfig speaks protobuf, as evenkeel does: it is the lighter way.
func restConfig(url string) *rest.Config {
	return &rest.Config{
		Host: url, QPS: 50, Burst: 100,
		ContentConfig: rest.ContentConfig{
			ContentType:        "application/vnd.kubernetes.protobuf",
			AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json",
		},
	}
}

// synced is what watchOnly writes when it knows all.
const synced = "synced"

// watchOnly runs shared informers for nodes and pods, as client-go makes them, until the context ends.
func watchOnly(ctx context.Context, url string, out io.Writer) error {
	client, err := kubernetes.NewForConfig(restConfig(url))
	if err != nil {
		return fmt.Errorf("making the client: %w", err)
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	factory.Core().V1().Nodes().Informer()
	factory.Core().V1().Pods().Informer()
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	for kind, ok := range factory.WaitForCacheSync(ctx.Done()) {
		if !ok {
			return fmt.Errorf("watching %v: no first list", kind)
		}
	}
	fmt.Fprintln(out, synced)
	<-ctx.Done()
	return nil
}
