package main

import (
	"context"
	"fmt"
	"io"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// restConfig selects protobuf, as evenkeel does, because it needs less memory than JSON.
func restConfig(url string) *rest.Config {
	return &rest.Config{
		Host: url, QPS: 50, Burst: 100,
		ContentConfig: rest.ContentConfig{
			ContentType:        "application/vnd.kubernetes.protobuf",
			AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json",
		},
	}
}

// synced is what watchOnly writes once its caches are synced.
const synced = "synced"

// watchOnly runs client-go's standard shared informers for nodes and pods until the
// context ends.
func watchOnly(ctx context.Context, url string, stripped bool, out io.Writer) error {
	client, err := kubernetes.NewForConfig(restConfig(url))
	if err != nil {
		return fmt.Errorf("making the client: %w", err)
	}
	var options []informers.SharedInformerOption
	if stripped {
		options = append(options, informers.WithTransform(strip))
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, options...)
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

// strip removes from an object the parts that neither a filter of kube-scheduler nor a
// plugin of the descheduler reads, as far as a single object shows that.
func strip(object any) (any, error) {
	switch o := object.(type) {
	case *v1.Node:
		o.ManagedFields, o.Annotations, o.Status.Images = nil, nil, nil
	case *v1.Pod:
		o.ManagedFields, o.Annotations, o.GenerateName = nil, nil, ""
		o.Status = v1.PodStatus{Phase: o.Status.Phase, QOSClass: o.Status.QOSClass, StartTime: o.Status.StartTime}
		for i := range o.Spec.Containers {
			c := &o.Spec.Containers[i]
			o.Spec.Containers[i] = v1.Container{Name: c.Name, Image: c.Image, Ports: c.Ports, Resources: c.Resources}
		}
	}
	return object, nil
}
