package cluster

import (
	"context"
	"fmt"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// GraceLabel with the value "true" makes kwok keep a deleted pod for its grace period.
	// Other pods disappear immediately.
	GraceLabel = "evenkeel.io/test-grace"
	// ReadyAfterAnnotation states how long a bound pod takes to become ready, such as "2s".
	// Other pods are ready immediately.
	ReadyAfterAnnotation = "evenkeel.io/test-ready-after"
	// appLabel contains the workload's name and selects its pods.
	appLabel = "app"

	// UsageCPUAnnotation states how much CPU each container of a pod uses, as a quantity.
	UsageCPUAnnotation = "kwok.x-k8s.io/usage-cpu"
	// UsageMemoryAnnotation states how much memory each container of a pod uses, as a
	// quantity.
	UsageMemoryAnnotation = "kwok.x-k8s.io/usage-memory"
)

// Resources are quantities of CPU and memory. An empty quantity is not set.
type Resources struct{ CPU, Memory string }

// Workload describes a Deployment of one-container pods.
type Workload struct {
	// Namespace is created if it does not exist. If it is empty, "default" is used.
	Namespace string
	Name      string
	Replicas  int
	Requests  Resources
	// Usage is the real usage of each pod. It is part of the template, so that replacements
	// have the same usage.
	Usage Resources
	// Grace, if positive, is how long a deleted pod still counts on its node.
	Grace             time.Duration
	PriorityClassName string
	SchedulerName     string
	NodeSelector      map[string]string
	Affinity          *corev1.Affinity
	// Adjust makes further changes to the pod template.
	Adjust func(*corev1.PodTemplateSpec)
}

func (w Workload) namespace() string {
	if w.Namespace == "" {
		return metav1.NamespaceDefault
	}
	return w.Namespace
}

// Deploy creates the Deployment and waits until all its pods are ready.
func (c *Cluster) Deploy(ctx context.Context, w Workload) error {
	if err := c.Create(ctx, w); err != nil {
		return err
	}
	return c.WaitReady(ctx, w.namespace(), w.Name)
}

// Create creates the Deployment, and its namespace if needed, without waiting
// for pods.
func (c *Cluster) Create(ctx context.Context, w Workload) error {
	if err := c.EnsureNamespace(ctx, w.namespace()); err != nil {
		return err
	}
	deployment, err := w.deployment()
	if err != nil {
		return fmt.Errorf("describing workload %q: %w", w.Name, err)
	}
	if _, err := c.client.AppsV1().Deployments(w.namespace()).Create(ctx, deployment, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating deployment %s/%s: %w", w.namespace(), w.Name, err)
	}
	return nil
}

func (w Workload) deployment() (*appsv1.Deployment, error) {
	requests, err := w.Requests.list()
	if err != nil {
		return nil, err
	}
	replicas := int32(w.Replicas)
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{
			Labels:      map[string]string{appLabel: w.Name},
			Annotations: w.Usage.annotations(),
		},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "main", Image: "registry.example/" + w.Name,
				Resources: corev1.ResourceRequirements{Requests: requests},
			}},
			PriorityClassName: w.PriorityClassName,
			SchedulerName:     w.SchedulerName,
			NodeSelector:      w.NodeSelector,
			Affinity:          w.Affinity,
		},
	}
	if w.Grace > 0 {
		seconds := int64(w.Grace.Seconds())
		template.Spec.TerminationGracePeriodSeconds = &seconds
		template.Labels[GraceLabel] = "true"
	}
	if w.Adjust != nil {
		w.Adjust(&template)
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: w.Name, Namespace: w.namespace(), Labels: map[string]string{appLabel: w.Name}},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: w.Name}},
			Template: template,
		},
	}, nil
}

func (r Resources) list() (corev1.ResourceList, error) {
	list := corev1.ResourceList{}
	for name, text := range map[corev1.ResourceName]string{corev1.ResourceCPU: r.CPU, corev1.ResourceMemory: r.Memory} {
		if text == "" {
			continue
		}
		quantity, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("reading %s %q: %w", name, text, err)
		}
		list[name] = quantity
	}
	return list, nil
}

func (r Resources) annotations() map[string]string {
	annotations := map[string]string{UsageCPUAnnotation: r.CPU, UsageMemoryAnnotation: r.Memory}
	maps.DeleteFunc(annotations, func(_, value string) bool { return value == "" })
	return annotations
}

// WaitReady waits until all pods of a Deployment are ready.
func (c *Cluster) WaitReady(ctx context.Context, namespace, name string) error {
	var ready, want int32
	err := wait.PollUntilContextCancel(ctx, pollEvery, true, func(ctx context.Context) (bool, error) {
		deployment, err := c.client.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, nil
		}
		ready, want = deployment.Status.ReadyReplicas, *deployment.Spec.Replicas
		observed := deployment.Status.ObservedGeneration >= deployment.Generation
		return observed && ready == want && deployment.Status.Replicas == want, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for deployment %s/%s, %d of %d pods ready: %w", namespace, name, ready, want, err)
	}
	return nil
}

// EnsureNamespace creates a namespace if needed, and waits until pods can be created in
// it.
func (c *Cluster) EnsureNamespace(ctx context.Context, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := c.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating namespace %q: %w", name, err)
	}
	return c.waitServiceAccount(ctx, name)
}

// waitServiceAccount waits for the default ServiceAccount, without which
// admission refuses pods.
func (c *Cluster) waitServiceAccount(ctx context.Context, namespace string) error {
	err := wait.PollUntilContextTimeout(ctx, pollEvery, readyWithin, true, func(ctx context.Context) (bool, error) {
		_, err := c.client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the default service account of namespace %q: %w", namespace, err)
	}
	return nil
}
