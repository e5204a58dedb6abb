package main

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// heartbeatSeconds is how often a kubelet reports its node's status when nothing happens.
const heartbeatSeconds = 300

func (s *server) nodeKind() kind {
	return kind{
		count: s.nodes, updates: float64(s.nodes) / heartbeatSeconds,
		make: func(i, version int) runtime.Object { return node(i, version) },
		list: func(items []runtime.Object, version, rest string) runtime.Object {
			list := &v1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, ListMeta: metav1.ListMeta{ResourceVersion: version, Continue: rest}}
			for _, item := range items {
				if node, ok := item.(*v1.Node); ok {
					list.Items = append(list.Items, *node)
				}
			}
			return list
		},
		empty: func(version string, annotations map[string]string) runtime.Object {
			return &v1.Node{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
				ObjectMeta: metav1.ObjectMeta{ResourceVersion: version, Annotations: annotations},
			}
		},
	}
}

func (s *server) podKind() kind {
	return kind{
		count: s.pods(), updates: float64(s.updates),
		make: func(i, version int) runtime.Object { return s.pod(i, version) },
		list: func(items []runtime.Object, version, rest string) runtime.Object {
			list := &v1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: version, Continue: rest}}
			for _, item := range items {
				if pod, ok := item.(*v1.Pod); ok {
					list.Items = append(list.Items, *pod)
				}
			}
			return list
		},
		empty: func(version string, annotations map[string]string) runtime.Object {
			return &v1.Pod{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
				ObjectMeta: metav1.ObjectMeta{ResourceVersion: version, Annotations: annotations},
			}
		},
	}
}
