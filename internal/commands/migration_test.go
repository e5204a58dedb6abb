package commands

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/compat"
	"github.com/evenkeel/evenkeel/internal/testkit"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/policy/rewritten"
)

// earlier holds the formats of all legacy systems, as the program reads them.
var earlier = Formats{Converters: []policy.Converter{compat.Convert}, ConvertFile: compat.ConvertFile}

// convertText runs `evenkeel convert` on a text.
func convertText(t *testing.T, text string) (converted, progress string, err error) {
	t.Helper()
	var out, log bytes.Buffer
	err = Convert(ConvertOptions{Files: []string{Standard}, To: Standard, Formats: earlier}, strings.NewReader(text), &out, &log)
	return out.String(), log.String(), err
}

// lintText runs `evenkeel lint` on a text.
func lintText(t *testing.T, text string) (LintReport, error) {
	t.Helper()
	var out bytes.Buffer
	err := Lint(LintOptions{Files: []string{Standard}, Format: "json", Formats: earlier}, strings.NewReader(text), &out, time.Now())
	var report LintReport
	if decodeErr := json.Unmarshal(out.Bytes(), &report); decodeErr != nil {
		t.Fatalf("reading the report: %v\n%s", decodeErr, out.String())
	}
	return report, err
}

// Every file in the documentation of legacy systems is converted, and linted before and after the
// conversion.
func TestEveryFileOfEarlierSystems(t *testing.T) {
	cases := map[string]struct {
		text   string
		blocks func(text string) []string
		// want lists what happens to the first document of each block.
		want []rewritten.Action
	}{
		"descheduler": {
			text: "descheduler.md", blocks: marked,
			// five policies with one strategy each, RBAC, the ConfigMap and the Job
			want: []rewritten.Action{
				rewritten.Converted, rewritten.Converted, rewritten.Converted, rewritten.Converted, rewritten.Converted,
				rewritten.Kept, rewritten.Converted, rewritten.Marked,
			},
		},
		"mem-real-usage-scheduler": {
			text: "mem-real-usage-scheduler.md", blocks: marked,
			// the configuration, RBAC followed by the Deployment, and a workload
			want: []rewritten.Action{rewritten.Current, rewritten.Kept, rewritten.Kept},
		},
		"kube-scheduler-extender": {
			text: "kube-scheduler-extender.md", blocks: configMap,
			want: []rewritten.Action{rewritten.Converted},
		},
		"crane-scheduler-plus": {
			text: "crane-scheduler-plus.md", blocks: flattened,
			want: []rewritten.Action{rewritten.Converted, rewritten.Converted},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			blocks := tc.blocks(string(testkit.EarlierSystem(t, tc.text)))
			if len(blocks) != len(tc.want) {
				t.Fatalf("%d blocks, want %d:\n%s", len(blocks), len(tc.want), strings.Join(blocks, "\n=====\n"))
			}
			for i, block := range blocks {
				result, err := compat.ConvertFile("block", []byte(block), kinds.All)
				if err != nil {
					t.Errorf("converting block %d: %v\n%s", i, err, block)
					continue
				}
				if got := result.Parts[0].Action; got != tc.want[i] {
					t.Errorf("block %d is %s, want %s", i, got, tc.want[i])
				}
				for when, text := range map[string]string{"unconverted": block, "converted": string(result.Text)} {
					if report, err := lintText(t, text); err != nil {
						t.Errorf("linting block %d %s: %v\n%+v\n%s", i, when, err, report, text)
					}
				}
			}
		})
	}
}

func marked(text string) []string { return testkit.YAMLBlocks([]byte(text)) }

// configMap returns the ConfigMaps among blocks without a declared type.
func configMap(text string) []string {
	_, text, _ = strings.Cut(text, "```\napiVersion: v1\nkind: ConfigMap\n")
	text, _, _ = strings.Cut(text, "\n```")
	return []string{"apiVersion: v1\nkind: ConfigMap\n" + text + "\n"}
}

// flattened returns the two files of a text that has lost its line breaks.
func flattened(text string) []string {
	var blocks []string
	for line := range strings.Lines(text) {
		switch {
		case strings.Contains(line, "kind: KubeSchedulerConfiguration"):
			blocks = append(blocks, strings.NewReplacer(
				"\n", "", "...", "", " kind:", "\nkind:", " profiles:", "\nprofiles:", " - schedulerName:", "\n- schedulerName:",
				" plugins:", "\n  plugins:", " filter:", "\n    filter:", " score:", "\n    score:", " enabled:", "\n      enabled:",
				" - name: Dynamic args:", "\n  - name: Dynamic\n    args:", " - name: Dynamic weight:", "\n      - name: Dynamic\n        weight:",
				" - name:", "\n      - name:", " pluginConfig:", "\n  pluginConfig:", " policyConfigPath:", "\n      policyConfigPath:",
			).Replace(line)+"\n")
		case strings.Contains(line, "kind: DynamicSchedulerPolicy"):
			blocks = append(blocks, strings.NewReplacer(
				"\n", "", " ##cpu usage", "", " ##memory usage", "", " kind:", "\nkind:", " spec:", "\nspec:",
				" syncPolicy:", "\n  syncPolicy:", " predicate:", "\n  predicate:", " priority:", "\n  priority:", " hotValue:", "\n  hotValue:",
				" - ", "\n  - ", " period:", "\n    period:", " maxLimitPecent:", "\n    maxLimitPecent:", " weight:", "\n    weight:", " count:", "\n    count:",
			).Replace(line)+"\n")
		}
	}
	return blocks
}
