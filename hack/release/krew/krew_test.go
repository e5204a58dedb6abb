package krew

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/hack/release/build"
)

// plugin has the fields of krew's Plugin that a manifest must set.
type plugin struct {
	APIVersion string
	Kind       string
	Metadata   struct{ Name string }
	Spec       struct {
		Version, Homepage, ShortDescription, Description string
		Platforms                                        []platform
	}
}

type platform struct {
	Selector struct{ MatchLabels map[string]string }
	URI      string
	SHA256   string
	Bin      string
	Files    []struct{ From, To string }
}

func TestManifest(t *testing.T) {
	content, err := Manifest("v1.2.3", []Archive{
		{Platform: build.Platform{OS: "darwin", Arch: "arm64"}, URL: "https://example.org/a.tar.gz", Sum: "aa"},
		{Platform: build.Platform{OS: "linux", Arch: "amd64"}, URL: "https://example.org/b.tar.gz", Sum: "bb"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got plugin
	if err := yaml.UnmarshalStrict(content, &got); err != nil {
		t.Fatalf("%v in\n%s", err, content)
	}
	if got.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || got.Kind != "Plugin" || got.Metadata.Name != "evenkeel" || got.Spec.Version != "v1.2.3" {
		t.Errorf("head of\n%s", content)
	}
	// 50 is krew's limit. No line of the description is longer than its table.
	if n := len(got.Spec.ShortDescription); n == 0 || n > 50 {
		t.Errorf("the short description has %d letters, want 1 to 50", n)
	}
	files := []struct{ From, To string }{{"evenkeel", "."}, {"evenkeel-sim", "."}, {"LICENSE", "."}, {"THIRD_PARTY_NOTICES", "."}}
	want := []platform{
		{URI: "https://example.org/a.tar.gz", SHA256: "aa", Bin: "evenkeel", Files: files},
		{URI: "https://example.org/b.tar.gz", SHA256: "bb", Bin: "evenkeel", Files: files},
	}
	want[0].Selector.MatchLabels = map[string]string{"os": "darwin", "arch": "arm64"}
	want[1].Selector.MatchLabels = map[string]string{"os": "linux", "arch": "amd64"}
	if diff := cmp.Diff(want, got.Spec.Platforms); diff != "" {
		t.Errorf("platforms (-want +got):\n%s", diff)
	}
}
