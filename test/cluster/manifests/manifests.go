// Package manifests reads the shipped manifests. Its tests, which need no cluster, check
// that they are consistent and that the binary accepts them.
package manifests

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// Dir returns the folder of the shipped manifests.
func Dir(t testing.TB) string {
	t.Helper()
	root, err := evenkeel.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "deploy")
}

// Read returns the content of a file.
func Read(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// Files lists the YAML files of deploy, relative to it.
func Files(t testing.TB, dir string) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(path) == ".yaml" {
			relative, _ := filepath.Rel(dir, path) // path is below dir
			files = append(files, relative)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// CertManager is a manifest with cert-manager's kinds, which an API server knows only
// once cert-manager is installed.
var CertManager = filepath.Join("components", "cert-manager", "certificates.yaml")

// Objects decodes every object of the shipped manifests by file, and
// rejects unknown fields.
func Objects(t testing.TB) map[string][]runtime.Object {
	t.Helper()
	files, err := evenkeel.Manifests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string][]runtime.Object{}
	for _, file := range files {
		documents := utilyaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(Read(t, file))))
		content := make([]byte, 1<<20)
		for {
			n, err := documents.Read(content)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("reading %s: %v", file, err)
			}
			object, _, err := scheme.Codecs.UniversalDeserializer().Decode(content[:n], nil, nil)
			if err != nil {
				t.Fatalf("decoding %s: %v", file, err)
			}
			objects[file] = append(objects[file], object)
		}
	}
	return objects
}

// Templates returns the pod templates of the shipped workloads, by the
// workload's kind and name.
func Templates(t testing.TB) map[string]v1.PodTemplateSpec {
	t.Helper()
	pods := map[string]v1.PodTemplateSpec{}
	for _, objects := range Objects(t) {
		addTemplates(pods, "", objects)
	}
	return pods
}

// ChartTemplates returns the pod templates of the chart as rendered with each set of
// values, including hooks.
func ChartTemplates(t testing.TB) map[string]v1.PodTemplateSpec {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(Dir(t)), "charts", "evenkeel", "testdata", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	pods := map[string]v1.PodTemplateSpec{}
	for _, file := range files {
		var known []runtime.Object
		for document := range strings.SplitSeq("\n"+string(Read(t, file)), "\n---\n") {
			// Kinds of operators are not registered, and contain no pods.
			if object, _, err := scheme.Codecs.UniversalDeserializer().Decode([]byte(document), nil, nil); err == nil {
				known = append(known, object)
			}
		}
		addTemplates(pods, filepath.Base(file)+"/", known)
	}
	return pods
}

func addTemplates(pods map[string]v1.PodTemplateSpec, prefix string, objects []runtime.Object) {
	for _, object := range objects {
		switch o := object.(type) {
		case *appsv1.Deployment:
			pods[prefix+"Deployment/"+o.Name] = o.Spec.Template
		case *batchv1.Job:
			pods[prefix+"Job/"+o.Name] = o.Spec.Template
		case *batchv1.CronJob:
			pods[prefix+"CronJob/"+o.Name] = o.Spec.JobTemplate.Spec.Template
		}
	}
}
