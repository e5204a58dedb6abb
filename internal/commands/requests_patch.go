package commands

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/observe/requests"
	"github.com/evenkeel/evenkeel/status"
)

// patchFormat is the value of -o that prints the advice as commands to paste.
const patchFormat = "patch"

// writePatches prints the advice for each owner as a kubectl command, with everything
// else to know about it as comments.
func writePatches(ctx context.Context, options *flags.Options, report *status.Requests, out io.Writer) error {
	connection, err := options.Connect()
	if err != nil {
		return err
	}
	scalers := scalers{client: connection.Client, known: map[string]*scalersOf{}}
	for i := range report.Owners {
		f := &report.Owners[i]
		if f.Advice == nil {
			continue
		}
		pod, err := podNamed(ctx, connection.Client, f.Namespace, f.ExamplePod)
		if err != nil {
			return fmt.Errorf("reading the containers of pod %s/%s: %w", f.Namespace, f.ExamplePod, err)
		}
		p := patch{Finding: f, pod: pod, scalers: scalers.in(ctx, f.Namespace)}
		for _, text := range p.lines() {
			line(out, "%s", layout.Printable(text))
		}
		line(out, "")
	}
	return nil
}

// podNamed returns a pod; nil if it is gone. It lists, because that is what top may do.
func podNamed(ctx context.Context, client kubernetes.Interface, namespace, name string) (*v1.Pod, error) {
	pods, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name, Limit: 1})
	if err != nil || len(pods.Items) == 0 || pods.Items[0].Name != name {
		return nil, err
	}
	return &pods.Items[0], nil
}

// scalers looks up what scales workloads, by namespace.
type scalers struct {
	client kubernetes.Interface
	known  map[string]*scalersOf
}

// scalersOf is what scales the workloads of a namespace.
type scalersOf struct {
	horizontal []autoscalingv2.HorizontalPodAutoscaler
	vertical   []verticalAutoscaler
	// unread lists, in words, what could not be read.
	unread []string
}

// verticalAutoscaler holds the fields of a VerticalPodAutoscaler that matter here.
type verticalAutoscaler struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		TargetRef    autoscalingv2.CrossVersionObjectReference `json:"targetRef"`
		UpdatePolicy struct {
			UpdateMode string `json:"updateMode"`
		} `json:"updatePolicy"`
	} `json:"spec"`
}

func (s *scalers) in(ctx context.Context, namespace string) *scalersOf {
	if s.known[namespace] != nil {
		return s.known[namespace]
	}
	found := &scalersOf{}
	s.known[namespace] = found
	if all, err := s.client.AutoscalingV2().HorizontalPodAutoscalers(namespace).List(ctx, metav1.ListOptions{}); err != nil {
		found.unread = append(found.unread, unread("horizontalpodautoscalers.autoscaling", namespace, err))
	} else {
		found.horizontal = all.Items
	}
	var all struct {
		Items []verticalAutoscaler `json:"items"`
	}
	data, err := s.client.Discovery().RESTClient().Get().AbsPath("/apis/autoscaling.k8s.io/v1/namespaces/"+namespace+"/verticalpodautoscalers").
		SetHeader("Accept", "application/json").Do(ctx).Raw()
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil && !apierrors.IsNotFound(err) { // otherwise no VPA is installed
		found.unread = append(found.unread, unread("verticalpodautoscalers.autoscaling.k8s.io", namespace, err))
	}
	found.vertical = all.Items
	return found
}

func unread(resource, namespace string, err error) string {
	why := err.Error()
	if apierrors.IsForbidden(err) {
		why = "grant list on " + resource
	}
	return fmt.Sprintf("Not looked up: %s in %s (%s). Check before you apply this.", resource, namespace, why)
}

// patch is the advice for one owner.
type patch struct {
	*requests.Finding
	pod     *v1.Pod // one of its pods; nil if that is gone
	scalers *scalersOf
}

// plain matches names that a shell reads as they are.
var plain = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

// lines returns comments and the command.
func (p *patch) lines() []string {
	lines := []string{fmt.Sprintf("# %s %s/%s: %d pods ask for %dm, use up to %dm 95%% of the time.", p.Kind, p.Namespace, p.Name, p.Pods, p.RequestMilliCores, p.P95MilliCores)}
	say := func(format string, args ...any) { lines = append(lines, "# "+fmt.Sprintf(format, args...)) }
	if p.Provisional() {
		say("Provisional: they were measured for less than an hour.")
	}
	if p.Advice.NotFitting > 0 {
		say("At least %d of them would no longer fit on any node.", p.Advice.NotFitting)
	}
	if p.Advice.QoS != p.Advice.NewQoS {
		say("Their class changes from %s to %s.", p.Advice.QoS, p.Advice.NewQoS)
	}
	for _, text := range p.scalers.unread {
		say("%s", text)
	}
	for _, text := range p.horizontal() {
		say("%s", text)
	}
	if name := p.vertical(); name != "" {
		say("The VerticalPodAutoscaler %s sets these requests. Check its minAllowed, maxAllowed and updateMode instead.", name)
		return lines
	}
	if p.pod == nil {
		say("Pod %s is gone. Run this command again.", p.ExamplePod)
		return lines
	}
	body, words := p.body()
	if words != "" {
		say("%s", words)
	}
	kind := strings.ToLower(p.Kind)
	if !slices.Contains([]string{"deployment", "statefulset", "daemonset"}, kind) || !plain.MatchString(p.Namespace) || !plain.MatchString(p.Name) {
		say("Change its template by hand: %s", body)
		return lines
	}
	say("Helm and kustomize: set the same value in the chart's values or the overlay, or the next rollout undoes this.")
	return append(lines, fmt.Sprintf("kubectl -n %s patch %s %s --type strategic --patch '%s'", p.Namespace, kind, p.Name, body))
}

// body returns the patch, and what to know about it in words.
func (p *patch) body() (body, words string) {
	main := &p.pod.Spec.Containers[0]
	for i := range p.pod.Spec.Containers {
		if c := &p.pod.Spec.Containers[i]; c.Resources.Requests.Cpu().MilliValue() > main.Resources.Requests.Cpu().MilliValue() {
			main = c
		}
	}
	if n := len(p.pod.Spec.Containers); n > 1 {
		words = fmt.Sprintf("The usage of its %d containers is not known one by one. The increase goes to %s.", n, main.Name)
	}
	milli := main.Resources.Requests.Cpu().MilliValue() + p.Advice.RequestMilliCores - p.RequestMilliCores
	resources := map[string]map[string]string{"requests": {"cpu": fmt.Sprintf("%dm", milli)}}
	if limit, ok := main.Resources.Limits[v1.ResourceCPU]; ok && limit.MilliValue() < milli {
		resources["limits"] = map[string]string{"cpu": fmt.Sprintf("%dm", milli)}
		words = strings.TrimSpace(words + " The container's CPU limit has to be raised as well.")
	}
	containers := []any{map[string]any{"name": main.Name, "resources": resources}}
	spec := map[string]any{"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": containers}}}}
	data, _ := json.Marshal(spec) // maps of strings
	return string(data), words
}

// horizontal describes the HorizontalPodAutoscalers that divide the owner's usage by its
// requests.
func (p *patch) horizontal() (words []string) {
	for i := range p.scalers.horizontal {
		h := &p.scalers.horizontal[i]
		if !p.targeted(h.Spec.ScaleTargetRef.Kind, h.Spec.ScaleTargetRef.Name) {
			continue
		}
		for k := range h.Spec.Metrics {
			target := utilizationOf(&h.Spec.Metrics[k])
			if target == nil {
				continue
			}
			words = append(words, fmt.Sprintf("The HorizontalPodAutoscaler %s aims at %d%% of the CPU request, so a higher request makes it scale in (kubernetes#142155).", h.Name, *target))
			if p.RequestMilliCores > 0 {
				to := max(int64(*target)*p.RequestMilliCores/p.Advice.RequestMilliCores, 1)
				words = append(words, fmt.Sprintf("Change its target to %d%% at the same time, which is the same usage per pod.", to))
			}
		}
	}
	return words
}

// utilizationOf returns a metric's target in percent of the CPU request; nil if it has
// none.
func utilizationOf(m *autoscalingv2.MetricSpec) *int32 {
	switch {
	case m.Resource != nil && m.Resource.Name == v1.ResourceCPU:
		return m.Resource.Target.AverageUtilization
	case m.ContainerResource != nil && m.ContainerResource.Name == v1.ResourceCPU:
		return m.ContainerResource.Target.AverageUtilization
	}
	return nil
}

// vertical returns the VerticalPodAutoscaler that sets the owner's requests; empty if
// none does.
func (p *patch) vertical() string {
	for i := range p.scalers.vertical {
		v := &p.scalers.vertical[i]
		if p.targeted(v.Spec.TargetRef.Kind, v.Spec.TargetRef.Name) && v.Spec.UpdatePolicy.UpdateMode != "Off" {
			return v.Metadata.Name
		}
	}
	return ""
}

func (p *patch) targeted(kind, name string) bool { return kind == p.Kind && name == p.Name }
