package doctor_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/compat/presets"
	"github.com/evenkeel/evenkeel/observe/usage/metricsserver"
	"github.com/evenkeel/evenkeel/status/doctor"
)

func good(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "scheduler", "good.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// configured returns the findings about a file, except those about the extender itself.
func configured(t *testing.T, text, address string) (says []string, fix string) {
	t.Helper()
	w := newFixture(t, metricsserver.Name)
	w.installation.Extender.URL = address
	w.installation.LegacyPlugins = presets.PluginNames()
	w.installation.SchedulerConfig = &doctor.SchedulerConfig{Name: "sched.yaml", Data: []byte(text)}
	for _, f := range doctor.Examine(w.ask().installation).Findings {
		if f.Check == doctor.CheckExtender && strings.HasPrefix(f.Subject, "sched.yaml") {
			says = append(says, string(f.Level)+" "+f.Subject+": "+f.Says)
			fix += f.Fix + "\n"
		}
	}
	return says, fix
}

// Each case changes one part of a correct file.
func TestSchedulerConfig(t *testing.T) {
	const ours = "sched.yaml: extenders[1]: "
	cases := map[string]struct {
		from, to string
		address  string
		want     []string // how the findings start
		fix      string
	}{
		"as it should be":               {want: []string{"ok sched.yaml: Its extenders entry for Evenkeel is correct."}},
		"without an address to compare": {address: "-", want: []string{"ok sched.yaml: Its extenders entry"}},
		"nobody is asked": {
			from: "extenders:\n", to: "extenders: []\nignored:\n", want: []string{"problem sched.yaml: kube-scheduler cannot read it as intended: reading it strictly: "},
		},
		"no filter":           {from: "    filterVerb: filter\n    prioritizeVerb", to: "    prioritizeVerb", want: []string{"problem " + ours + "filterVerb is not filter"}, fix: "filterVerb: filter"},
		"a verb of others":    {from: "filter\n    prioritizeVerb", to: "predicates\n    prioritizeVerb", want: []string{"problem " + ours + "filterVerb is not filter"}},
		"no prioritize":       {from: "    prioritizeVerb: prioritize\n", want: []string{"problem " + ours + "prioritizeVerb is not prioritize"}, fix: "prioritizeVerb: prioritize"},
		"whole nodes":         {from: "    nodeCacheCapable: true\n", want: []string{"problem " + ours + "nodeCacheCapable is not true"}, fix: "nodeCacheCapable: true"},
		"not ignorable":       {from: "    ignorable: true\n", want: []string{"problem " + ours + "ignorable is not true"}, fix: "ignorable: true"},
		"no timeout":          {from: "    httpTimeout: 200ms\n", want: []string{"problem " + ours + "httpTimeout is not set, so it is 5s"}, fix: "httpTimeout: 200ms"},
		"a long timeout":      {from: "200ms", to: "3s", want: []string{"problem " + ours + "httpTimeout is above 1s"}},
		"one second will do":  {from: "200ms", to: "1s", want: []string{"ok sched.yaml: Its extenders entry"}},
		"no weight":           {from: "    weight: 15\n", want: []string{"problem " + ours + "weight is not above 0"}, fix: "weight: 15"},
		"a low weight":        {from: "weight: 15", to: "weight: 1", want: []string{"warning " + ours + "weight is low"}},
		"a high weight":       {from: "weight: 15", to: "weight: 1000", want: []string{"warning " + ours + "weight is high"}},
		"preemption":          {from: "    weight: 15", to: "    preemptVerb: preempt\n    weight: 15", want: []string{"problem " + ours + "preemptVerb is set"}},
		"binding":             {from: "    weight: 15", to: "    bindVerb: bind\n    weight: 15", want: []string{"problem " + ours + "bindVerb is set"}},
		"some pods only":      {from: "    weight: 15", to: "    managedResources: [{name: example.com/x}]\n    weight: 15", want: []string{"problem " + ours + "managedResources is set"}},
		"https, any server":   {from: "http://127.0.0.1:8888", to: "https://127.0.0.1:8888\n    enableHTTPS: true\n    tlsConfig: {certFile: /c.crt, keyFile: /c.key}", want: []string{"warning " + ours + "enableHTTPS without an authority"}, fix: "caFile"},
		"https with a CA":     {from: "http://127.0.0.1:8888", to: "https://127.0.0.1:8888\n    enableHTTPS: true\n    tlsConfig: {caFile: /ca.crt, certFile: /c.crt, keyFile: /c.key}", want: []string{"ok sched.yaml"}},
		"no client":           {from: "http://127.0.0.1:8888", to: "https://127.0.0.1:8888\n    enableHTTPS: true\n    tlsConfig: {caFile: /ca.crt}", want: []string{"warning " + ours + "tlsConfig has no client certificate"}, fix: "certFile"},
		"plain HTTP":          {from: "127.0.0.1:8888", to: "10.96.0.50:8888", want: []string{"warning " + ours + "urlPrefix uses plain HTTP: anyone who can reach the extender can send"}, fix: "caFile"},
		"a CA and insecure":   {from: "http://127.0.0.1:8888", to: "https://127.0.0.1:8888\n    tlsConfig: {caFile: /ca.crt, insecure: true, certFile: /c.crt, keyFile: /c.key}", want: []string{"problem " + ours + "tlsConfig has both an authority and insecure"}},
		"insecure":            {from: "http://127.0.0.1:8888", to: "https://127.0.0.1:8888\n    tlsConfig: {insecure: true, certFile: /c.crt, keyFile: /c.key}", want: []string{"warning " + ours + "tlsConfig.insecure accepts any certificate"}},
		"https over http":     {from: "    weight: 15", to: "    enableHTTPS: true\n    tlsConfig: {caFile: /ca.crt}\n    weight: 15", want: []string{"problem " + ours + "enableHTTPS is true, but urlPrefix begins with http://"}},
		"no URL":              {from: "http://127.0.0.1:8888", to: "127.0.0.1:8888", address: "-", want: []string{"problem " + ours + "urlPrefix is not a URL"}},
		"a Service's name":    {from: "127.0.0.1:8888", to: "evenkeel.evenkeel.svc:8888", address: "http://evenkeel.evenkeel.svc:8888", want: []string{"warning " + ours + "urlPrefix uses plain HTTP", "warning " + ours + "urlPrefix has a Service's name"}, fix: "ClusterIP"},
		"another address":     {address: "http://10.0.0.9:8888", want: []string{`warning ` + ours + `urlPrefix is "http://127.0.0.1:8888", and --extender-url is "http://10.0.0.9:8888"`}},
		"another scheduler":   {from: "schedulerName: default-scheduler", to: "schedulerName: batch", want: []string{`warning sched.yaml: profiles: The policy moves pods of the scheduler "default-scheduler", but this configuration has only batch`}},
		"a default profile":   {from: "  - schedulerName: default-scheduler\n    pluginConfig", to: "  - pluginConfig", want: []string{"ok sched.yaml"}},
		"an unknown field":    {from: "    weight: 15", to: "    wieght: 15", want: []string{"problem sched.yaml: kube-scheduler cannot read it as intended: reading it strictly: "}},
		"a field twice":       {from: "    weight: 15", to: "    weight: 15\n    weight: 16", want: []string{"problem sched.yaml: kube-scheduler cannot read it as intended: reading it strictly: "}},
		"an old version":      {from: "k8s.io/v1", to: "k8s.io/v1beta3", want: []string{"problem sched.yaml: kube-scheduler cannot read it as intended: kubescheduler.config.k8s.io/v1beta3 was removed in Kubernetes 1.29."}},
		"another kind":        {from: "kind: KubeSchedulerConfiguration", to: "kind: Policy", want: []string{`problem sched.yaml: kube-scheduler cannot read it as intended: it is a "Policy" of`}},
		"two documents":       {from: "extenders:\n", to: "---\nextenders:\n", want: []string{"problem sched.yaml: kube-scheduler cannot read it as intended: it has more than one document"}},
		"a comment before it": {from: "# What", to: "# x\n---\n# What", want: []string{"ok sched.yaml"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text := good(t)
			if tc.from != "" {
				before, after, ok := cutLast(text, tc.from)
				if !ok {
					t.Fatalf("good.yaml has no %q", tc.from)
				}
				text = before + tc.to + after
			}
			address := tc.address
			switch address {
			case "":
				address = "http://127.0.0.1:8888"
			case "-":
				address = ""
			}
			says, fix := configured(t, text, address)
			begins(t, says, tc.want)
			if !strings.Contains(fix, tc.fix) {
				t.Errorf("fix: got %q, want it to contain %q", fix, tc.fix)
			}
		})
	}
}

// begins checks the number of findings and how each starts.
func begins(t *testing.T, says, want []string) {
	t.Helper()
	if len(says) != len(want) {
		t.Fatalf("got %q, want %q", says, want)
	}
	for i := range says {
		if !strings.HasPrefix(says[i], want[i]) {
			t.Errorf("got %q, want it to begin with %q", says[i], want[i])
		}
	}
}

// cutLast cuts a text around the last occurrence of piece.
func cutLast(text, piece string) (before, after string, ok bool) {
	at := strings.LastIndex(text, piece)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(piece):], true
}

// Evenkeel has a position among the extenders that filter, because kube-scheduler asks ignorable
// ones last.
func TestPlaceAmongExtenders(t *testing.T) {
	const (
		head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nextenders:\n"
		ours = "  - {urlPrefix: 'http://127.0.0.1:8888', filterVerb: filter, prioritizeVerb: prioritize, weight: 15, nodeCacheCapable: true, ignorable: true, httpTimeout: 200ms}\n"
	)
	other := func(fields string) string { return "  - {urlPrefix: 'http://10.0.0.1/x', " + fields + "}\n" }
	fine := "ok sched.yaml: Its extenders entry for Evenkeel is correct."
	behind := "problem sched.yaml: extenders[0]: extenders[1] is asked after it and may reject the node that was booked for a pod: Evenkeel must be last."
	cases := map[string]struct {
		entries string
		want    []string
	}{
		"alone":                               {ours, []string{fine}},
		"the last":                            {other("filterVerb: check, ignorable: true") + ours, []string{fine}},
		"before one that is ignorable":        {ours + other("filterVerb: check, ignorable: true"), []string{behind}},
		"before one that is not: asked first": {ours + other("filterVerb: check"), []string{fine}},
		"not ignorable behind one that is": {other("filterVerb: check, ignorable: true") + strings.ReplaceAll(ours, "ignorable: true, ", ""), []string{
			"problem sched.yaml: extenders[1]: ignorable is not true: while Evenkeel is unavailable, no pod is scheduled.",
			strings.NewReplacer("extenders[0]", "extenders[1]", "extenders[1]", "extenders[0]").Replace(behind),
		}},
		"before one that only scores": {ours + other("prioritizeVerb: rank, weight: 1, ignorable: true"), []string{fine}},
		"twice": {ours + ours, []string{
			behind,
			"warning sched.yaml: extenders[1]: 2 entries lead to Evenkeel: each costs every pod two requests.",
		}},
		"not there": {other("bindVerb: bind"), []string{"problem sched.yaml: None of its 1 extender is for Evenkeel, so kube-scheduler does not ask Evenkeel."}},
		"none":      {"  []\n", []string{"problem sched.yaml: None of its 0 extenders is for Evenkeel, so kube-scheduler does not ask Evenkeel."}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, _ := configured(t, head+tc.entries, "http://127.0.0.1:8888")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// The shipped file passes.
func TestShippedSchedulerConfig(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "deploy", "kube-scheduler.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	got, _ := configured(t, string(data), "http://127.0.0.1:8888") // a port-forward
	if diff := cmp.Diff([]string{"ok sched.yaml: Its extenders entry for Evenkeel is correct."}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// The block that doctor proposes passes doctor's own checks.
func TestProposedBlock(t *testing.T) {
	for _, address := range []string{"", "http://127.0.0.1:8888", "https://10.96.0.20:8443"} {
		text := "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n" + doctor.Block(address) + "\n"
		got, _ := configured(t, text, address)
		if diff := cmp.Diff([]string{"ok sched.yaml: Its extenders entry for Evenkeel is correct."}, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", address, diff)
		}
	}
}
