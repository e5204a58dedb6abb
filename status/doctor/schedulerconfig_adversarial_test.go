package doctor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/observe/usage/metricsserver"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/status/doctor"
)

// bomb is a small file that becomes huge when its aliases are expanded.
func bomb() string {
	var text strings.Builder
	text.WriteString("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := range 12 {
		ref := fmt.Sprintf("*a%d", i)
		fmt.Fprintf(&text, "a%d: &a%d [%s]\n", i+1, i+1, strings.Join([]string{ref, ref, ref, ref, ref, ref, ref, ref, ref, ref}, ", "))
	}
	return text.String()
}

// Whatever a file contains, a single finding states that it cannot be read, and it is found
// quickly.
func TestHostileSchedulerConfig(t *testing.T) {
	const head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
	cases := map[string]struct{ text, want string }{
		"empty":                 {"", "it has no apiVersion and no kind"},
		"comments only":         {"# nothing\n---\n# here\n", "it has no apiVersion and no kind"},
		"a list":                {"- a\n- b\n", "reading YAML"},
		"a number":              {"5", "reading YAML"},
		"not YAML":              {"apiVersion: [", "reading YAML"},
		"not text":              {"\xff\xfe\x00", "not UTF-8"},
		"a control sequence":    {"kind: \"\\e[2Jx\"\napiVersion: y\n", "it is a"},
		"too large":             {head + strings.Repeat("# padding\n", doctor.MaxSchedulerConfigBytes/10+1), "more than"},
		"a bomb of aliases":     {bomb(), ""},
		"deeply nested":         {head + "extenders: " + strings.Repeat("[", 20_000), "reading YAML"},
		"a timeout of nonsense": {head + "extenders: [{urlPrefix: x, httpTimeout: soon}]", "reading it strictly"},
		"a timeout too long":    {head + "extenders: [{urlPrefix: x, httpTimeout: 99999999999h}]", "reading it strictly"},
		"a weight too large":    {head + "extenders: [{urlPrefix: x, weight: 99999999999999999999}]", "reading it strictly"},
		"extenders are a text":  {head + "extenders: none", "reading it strictly"},
		"other spelling twice":  {head + "extenders: [{urlPrefix: x, urlprefix: y}]", "reading it strictly"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			says, _ := configured(t, tc.text, "")
			if len(says) != 1 || !strings.HasPrefix(says[0], "problem sched.yaml: kube-scheduler cannot read it as intended: ") || !strings.Contains(says[0], tc.want) {
				t.Errorf("got %q, want %q", says, tc.want)
			}
			if strings.ContainsRune(strings.Join(says, ""), 0x1b) {
				t.Errorf("a control sequence reaches the terminal: %q", says)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// A file of nulls counts as an empty one.
func TestNullExtenders(t *testing.T) {
	for _, text := range []string{"extenders: null\n", "extenders: [null]\n", "profiles: [null]\n"} {
		got, _ := configured(t, "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"+text, "")
		if len(got) == 0 || !strings.HasPrefix(got[0], "problem sched.yaml: None of its") {
			t.Errorf("%q: got %q", text, got)
		}
	}
}

// Findings do not contain passwords from addresses.
func TestPasswordsAreNotTold(t *testing.T) {
	text := strings.ReplaceAll(good(t), "http://127.0.0.1:8888", "http://me:hunter2@127.0.0.1:8888")
	w := newFixture(t, metricsserver.Name)
	w.installation.Extender.URL = "http://10.0.0.9:8888"
	w.installation.SchedulerConfig = &doctor.SchedulerConfig{Name: "sched.yaml", Data: []byte(text)}
	for _, f := range doctor.Examine(w.ask().installation).Findings {
		if strings.Contains(f.Says+f.Fix, "hunter2") {
			t.Errorf("got %+v", f)
		}
	}
}

func FuzzSchedulerConfig(f *testing.F) {
	f.Add("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n" + doctor.Block("") + "\n")
	f.Add(bomb())
	f.Add("---\n")
	f.Fuzz(func(t *testing.T, text string) {
		load := policy.Default(kinds.All)
		p := &doctor.Installation{
			Mode: doctor.ModeServe, Load: &load, Unlisted: "nothing", SchedulerConfig: &doctor.SchedulerConfig{Name: "f", Data: []byte(text)},
		}
		if report := doctor.Examine(p); len(report.Findings) == 0 {
			t.Error("nothing was found")
		}
	})
}
