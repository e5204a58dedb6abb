package compat

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/rewritten"
)

// value returns data[key] of the ConfigMap that is the only document in a text.
func value(t *testing.T, text []byte, key string) string {
	t.Helper()
	parts, err := policy.ReadParts("", text)
	if err != nil || len(parts) != 1 {
		t.Fatalf("reading the outcome: %v\n%s", err, text)
	}
	data, _ := parts[0].Object["data"].(map[string]any)
	found, _ := data[key].(string)
	return found
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ") + "\n"
}

func TestPoliciesInsideOfConfigMaps(t *testing.T) {
	configMap := "# above\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: policies # beside\n  labels: {\"app\": 'x'}\ndata:\n" +
		"  # about the policy\n  policy.yaml: |\n" + indent(v1alpha1) +
		"  script.sh: |\n    echo kind\n  empty: \"\"\n  port: \"on\"\n"
	result := mustConvert(t, configMap)
	converted := value(t, result.Text, "policy.yaml")
	if want, got := mustLoad(t, []byte(v1alpha1)), mustLoad(t, []byte(converted)); cmp.Diff(want, got, sameFile) != "" {
		t.Errorf("the policy changed its meaning:\n%s", cmp.Diff(want, got, sameFile))
	}
	for _, want := range []string{
		"# above\n", "name: policies # beside\n", "labels: {\"app\": 'x'}\n", "  # about the policy\n", "  policy.yaml: |\n",
		"  script.sh: |\n    echo kind\n", "  port: \"on\"\n",
	} {
		if !strings.Contains(string(result.Text), want) {
			t.Errorf("the ConfigMap lost %q:\n%s", want, result.Text)
		}
	}
	const name = `ConfigMap "policies" data["policy.yaml"]`
	if len(result.Policies) != 1 || result.Policies[0].Name != "in.yaml: "+name || string(result.Policies[0].Data) != v1alpha1 {
		t.Errorf("policies: %+v", result.Policies)
	}
	if len(result.Parts) != 1 || result.Parts[0].Place != name+", line 1" || result.Parts[0].Action != rewritten.Converted {
		t.Errorf("parts: %+v", result.Parts)
	}
}

func TestEveryFormInsideOfAConfigMap(t *testing.T) {
	cases := map[string]struct{ in, want string }{
		"Crane's policy":           {cranePolicy, "kind: LoadPolicy\n"},
		"dynamicScheduler's rules": {rules, "kind: LoadPolicy\n"},
		"kube-scheduler's Policy":  {schedulerPolicy, "kind: KubeSchedulerConfiguration\n"},
		"a scheduler of v1beta2":   {schedulerBeta, "apiVersion: kubescheduler.config.k8s.io/v1\n"},
		"two of them":              {v1alpha1 + "---\n" + cranePolicy, "kind: LoadPolicy\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			result := mustConvert(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  p: |\n"+indent(tc.in))
			if got := value(t, result.Text, "p"); !strings.Contains(got, tc.want) || !changed(result) {
				t.Errorf("the value does not have %q:\n%s", tc.want, got)
			}
		})
	}
}

// A List is what `kubectl get -o yaml` prints for several objects.
func TestListsAndJSON(t *testing.T) {
	list := `{"apiVersion": "v1", "kind": "List", "items": [
  {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}},
  {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"r.yaml": "Rulename: {a: {Promsql: up, Threshold: 1}}"}}]}`
	result := mustConvert(t, list)
	parts, err := policy.ReadParts("", result.Text)
	if err != nil {
		t.Fatal(err)
	}
	items, _ := parts[0].Object["items"].([]any)
	if len(items) != 2 {
		t.Fatalf("items: %v", items)
	}
	service, _ := items[0].(map[string]any)
	configMap, _ := items[1].(map[string]any)
	data, _ := configMap["data"].(map[string]any)
	text, _ := data["r.yaml"].(string)
	if service["kind"] != "Service" || !strings.Contains(text, "kind: LoadPolicy\n") {
		t.Errorf("text:\n%s", result.Text)
	}
}

func TestWorkloadsOfEarlierSystems(t *testing.T) {
	const job = `apiVersion: batch/v1
kind: Job
metadata:
  name: descheduler-job
spec:
  template:
    spec:
      containers:
        - name: descheduler
          image: us.gcr.io/k8s-artifacts-prod/descheduler/descheduler:v0.10.0
          command:
            - "/bin/descheduler"
          args: ["--policy-config-file", "/policy-dir/policy.yaml", "--v", "3", "--max-pods=3"] # mine
        - {name: other, image: nginx}
`
	const want = `apiVersion: batch/v1
kind: Job
metadata:
  name: descheduler-job
spec:
  template:
    spec:
      containers:
        - name: descheduler
          # evenkeel convert: use the image built by deploy/Dockerfile here
          image: us.gcr.io/k8s-artifacts-prod/descheduler/descheduler:v0.10.0
          # evenkeel convert: ["/evenkeel", "run"] replaces its first word; the arguments stay
          command:
            - "/bin/descheduler"
          # evenkeel convert: remove --max-pods, which evenkeel run does not have
          args: ["--policy-config-file", "/policy-dir/policy.yaml", "--v", "3", "--max-pods=3"] # mine
        - {name: other, image: nginx}
`
	result := mustConvert(t, job)
	if diff := cmp.Diff(want, string(result.Text)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	if len(result.Parts) != 1 || result.Parts[0].Action != rewritten.Marked || result.Parts[0].Found != `Job "descheduler-job"` || len(result.Parts[0].Notes) != 3 {
		t.Errorf("parts: %+v", result.Parts)
	}
}

func TestWhichContainersAreMarked(t *testing.T) {
	cases := map[string]struct {
		container string
		want      string // part of the marks; empty for none
	}{
		"descheduler by its image":      {`{image: "registry.k8s.io/descheduler/descheduler:v0.26.0@sha256:00"}`, `its command is ["/evenkeel", "run"]`},
		"descheduler by its command":    {`{image: mirror/x, command: [/bin/descheduler]}`, `["/evenkeel", "run"]`},
		"crane's scheduler":             {`{image: "docker.io/dongjiang1989/crane-scheduler:main", command: [/scheduler]}`, "the plugin Dynamic"},
		"crane's controller":            {`{image: "docker.io/gocrane/crane-scheduler-controller:0.0.23", command: [/controller]}`, "can be deleted"},
		"the memory extender":           {`{image: x, command: [./kube-scheduler-extender, "--prometheus_url=http://p:9090"]}`, `["/evenkeel", "extender"]`},
		"the labeller":                  {`{image: "zsp/dynamicScheduler:v1", args: [-prom, "http://p:9090"]}`, `["/evenkeel", "nodesync"]`},
		"a kube-scheduler with plugins": {`{image: devopsn/kube-scheduler, command: [/bin/kube-scheduler, --config=/c]}`, `["/kube-scheduler"] replaces its first word`},
		"the exporter, which is kept":   {`{image: "dongjiang1989/node-metrics:latest"}`, ""},
		"something else":                {`{image: nginx, command: [controller]}`, ""},
		"no containers":                 {`descheduler`, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  template:\n    spec:\n      containers:\n        - " + tc.container + "\n"
			result := mustConvert(t, in)
			action := rewritten.Kept
			if tc.want != "" {
				action = rewritten.Marked
			}
			if len(result.Parts) != 1 || result.Parts[0].Action != action {
				t.Fatalf("parts: %+v, want %s", result.Parts, action)
			}
			if tc.want == "" && string(result.Text) != in || !strings.Contains(string(result.Text), tc.want) {
				t.Errorf("text:\n%s\nwant %q in it", result.Text, tc.want)
			}
		})
	}
}

func TestOtherManifestsStayByteByByte(t *testing.T) {
	const in = "# rbac\nkind: ClusterRole\napiVersion: rbac.authorization.k8s.io/v1\nmetadata: {name: a}\nrules:\n" +
		"- apiGroups: [\"\"]\n  resources: [\"events\"] # x\n  verbs: [\"create\", \"update\"]\n---\n" +
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata: {x: 'just text: no policy'}\n"
	result := mustConvert(t, in)
	if diff := cmp.Diff(in, string(result.Text)); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}
	if len(result.Parts) != 2 || result.Parts[0].Action != rewritten.Kept || result.Parts[1].Action != rewritten.Kept {
		t.Errorf("parts: %+v", result.Parts)
	}
}

// Values that share an anchor are each converted. If that would change other uses of the anchor,
// the conversion fails and leaves the file alone.
func TestSharedValues(t *testing.T) {
	const head = "apiVersion: v1\nkind: ConfigMap\n"
	result := mustConvert(t, head+"metadata: {name: a}\ndata:\n  a: &p |\n"+indent(rules)+"  b: *p\n")
	for _, key := range []string{"a", "b"} {
		if got := value(t, result.Text, key); !strings.Contains(got, "kind: LoadPolicy\n") {
			t.Errorf("%s:\n%s", key, got)
		}
	}
	_, err := ConvertFile("in.yaml", []byte(head+"metadata: {name: a, annotations: &d {r: 'Rulename: {a: {Promsql: up, Threshold: 1}}'}}\ndata: *d\n"), kinds.All)
	if err == nil || !policy.IsInvalid(err) || !strings.Contains(err.Error(), "without changing its meaning") {
		t.Errorf("error %v, want that it cannot be rewritten", err)
	}
}
