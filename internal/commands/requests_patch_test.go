package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/evenkeel/evenkeel/internal/flags"
	"github.com/evenkeel/evenkeel/observe/requests"
)

// containerOf returns a container with a CPU request and limit; empty means none.
func containerOf(name, request, limit string) v1.Container {
	c := v1.Container{Name: name, Resources: v1.ResourceRequirements{Requests: v1.ResourceList{}, Limits: v1.ResourceList{}}}
	if request != "" {
		c.Resources.Requests[v1.ResourceCPU] = resource.MustParse(request)
	}
	if limit != "" {
		c.Resources.Limits[v1.ResourceCPU] = resource.MustParse(limit)
	}
	return c
}

func TestPatch(t *testing.T) {
	web := requests.Finding{Namespace: "shop", Kind: "Deployment", Name: "web", RequestMilliCores: 100, MinutesKnown: 600, Advice: &requests.Advice{RequestMilliCores: 700}}
	kind := func(kind string) requests.Finding { f := web; f.Kind = kind; return f }
	hostile := web
	hostile.Name = "web'; rm -rf ~; '"
	target := int32(80)
	hpa := autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: "web-hpa"}, Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "web"},
		Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
			Name: v1.ResourceCPU, Target: autoscalingv2.MetricTarget{AverageUtilization: &target},
		}}},
	}}
	var vpa, off verticalAutoscaler
	vpa.Metadata.Name, vpa.Spec.TargetRef = "web-vpa", hpa.Spec.ScaleTargetRef
	off = vpa
	off.Spec.UpdatePolicy.UpdateMode = "Off"
	one := []v1.Container{containerOf("main", "100m", "")}
	cases := map[string]struct {
		finding    requests.Finding
		containers []v1.Container
		scalers    scalersOf
		// want is the request of each container after the patch; nil if there is no command.
		want map[string]string
		says string
	}{
		"one container":       {web, one, scalersOf{}, map[string]string{"main": "700m"}, "# Deployment shop/web"},
		"a StatefulSet":       {kind("StatefulSet"), one, scalersOf{}, map[string]string{"main": "700m"}, "patch statefulset web"},
		"another kind":        {kind("CloneSet"), one, scalersOf{}, nil, `by hand: {"spec"`},
		"several containers":  {web, []v1.Container{containerOf("proxy", "20m", ""), containerOf("main", "80m", "")}, scalersOf{}, map[string]string{"proxy": "20m", "main": "680m"}, "The increase goes to main"},
		"a limit in between":  {web, []v1.Container{containerOf("main", "100m", "500m")}, scalersOf{}, map[string]string{"main": "700m"}, "limit has to be raised"},
		"an HPA":              {web, one, scalersOf{horizontal: []autoscalingv2.HorizontalPodAutoscaler{hpa}}, map[string]string{"main": "700m"}, "target to 11% at the same time"},
		"an HPA of another":   {kind("StatefulSet"), one, scalersOf{horizontal: []autoscalingv2.HorizontalPodAutoscaler{hpa}}, map[string]string{"main": "700m"}, ""},
		"a VPA":               {web, one, scalersOf{vertical: []verticalAutoscaler{vpa}}, nil, "web-vpa sets these requests"},
		"a VPA that is off":   {web, one, scalersOf{vertical: []verticalAutoscaler{off}}, map[string]string{"main": "700m"}, ""},
		"HPAs are not read":   {web, one, scalersOf{unread: []string{"Not looked up: HPAs"}}, map[string]string{"main": "700m"}, "# Not looked up: HPAs"},
		"a pod that is gone":  {web, nil, scalersOf{}, nil, "is gone"},
		"a name with a quote": {hostile, one, scalersOf{}, nil, "by hand"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := patch{Finding: &tc.finding, scalers: &tc.scalers}
			if tc.containers != nil {
				p.pod = &v1.Pod{Spec: v1.PodSpec{Containers: tc.containers}}
			}
			lines := p.lines()
			if text := strings.Join(lines, "\n"); !strings.Contains(text, tc.says) {
				t.Errorf("no %q in\n%s", tc.says, text)
			}
			last := lines[len(lines)-1]
			if strings.HasPrefix(last, "#") != (tc.want == nil) {
				t.Fatalf("last line: %s", last)
			}
			if tc.want != nil {
				got := patched(t, last, tc.containers)
				for container, request := range tc.want {
					if got[container] != request {
						t.Errorf("%s asks for %s, want %s: %s", container, got[container], request, last)
					}
				}
			}
		})
	}
}

// patched applies the patch of a kubectl command as the API server does, and returns the CPU request of each container.
func patched(t *testing.T, command string, containers []v1.Container) map[string]string {
	t.Helper()
	_, quoted, _ := strings.Cut(command, "--patch '")
	template := struct {
		Spec struct {
			Template v1.PodTemplateSpec `json:"template"`
		} `json:"spec"`
	}{}
	template.Spec.Template.Spec.Containers = containers
	template.Spec.Template = *template.Spec.Template.DeepCopy()
	before, err := json.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, []byte(strings.TrimSuffix(quoted, "'")), template)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(after, &template); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, c := range template.Spec.Template.Spec.Containers {
		if limit, ok := c.Resources.Limits[v1.ResourceCPU]; ok && limit.Cmp(*c.Resources.Requests.Cpu()) < 0 {
			t.Errorf("%s asks for more than its limit", c.Name)
		}
		all[c.Name] = c.Resources.Requests.Cpu().String()
	}
	return all
}

// The test runs the whole command. What scales an owner is looked up with the user's permissions, and the output says
// what these do not allow.
func TestRequestsPrintsPatches(t *testing.T) {
	for code, want := range map[int]string{
		http.StatusOK:        "The HorizontalPodAutoscaler web aims at 70% of the CPU request",
		http.StatusForbidden: "# Not looked up: horizontalpodautoscalers.autoscaling in shop (grant list on horizontalpodautoscalers.autoscaling)",
	} {
		t.Run(http.StatusText(code), func(t *testing.T) {
			hpa := `{"metadata":{"name":"web"},"spec":{"scaleTargetRef":{"kind":"Deployment","name":"web"},"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":70}}}]}}`
			answer := func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers" {
					return false
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(code)
				text := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`
				if code == http.StatusOK {
					text = listOf("HorizontalPodAutoscalerList", "autoscaling/v2", []string{hpa})
				}
				_, _ = w.Write([]byte(text))
				return true
			}
			options := flags.Options{Namespace: "evenkeel", Kubeconfig: measuredCluster(t, answer, measuredPods{"web", "n1", 8, 100, 900})}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var out bytes.Buffer
			if err := Requests(ctx, options, RequestsOptions{Format: patchFormat}, &out); err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{want, "kubectl -n shop patch deployment web --type strategic", `"name":"main"`, "# Provisional"} {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in\n%s", want, out.String())
				}
			}
			if got := patched(t, lastLine(out.String()), []v1.Container{containerOf("main", "100m", "")}); got["main"] != "900m" {
				t.Errorf("requests %v:\n%s", got, out.String())
			}
		})
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
