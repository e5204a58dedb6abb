package testkit

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestYAMLBlocks(t *testing.T) {
	const text = "```yaml\na: 1\n```\n" +
		"prose with ``` in it\n\n" +
		"```shell\nkubectl get pods\n```\n" +
		"  ```YML\n  b: 2\n  ```\n" +
		"```yaml\n```\n" +
		"```yaml\nc: 3\n"
	want := []string{"a: 1\n", "  b: 2\n", "", "c: 3\n"}
	if diff := cmp.Diff(want, YAMLBlocks([]byte(text))); diff != "" {
		t.Errorf("blocks (-want +got):\n%s", diff)
	}
}
