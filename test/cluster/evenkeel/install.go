package evenkeel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"github.com/evenkeel/evenkeel/test/cluster"
)

// Namespace is Evenkeel's namespace in the shipped manifests.
const Namespace = "evenkeel"

// Accesses holds the paths of kubeconfig files for the shipped ServiceAccounts.
type Accesses struct{ Evenkeel, Extender string }

// Install applies the shipped ServiceAccounts, roles and ConfigMap, and returns
// kubeconfig files for the ServiceAccounts.
func Install(ctx context.Context, c *cluster.Cluster) (Accesses, error) {
	files, err := Manifests(ctx)
	if err != nil {
		return Accesses{}, err
	}
	for _, file := range files {
		name := filepath.Base(file)
		workload := slices.Contains([]string{"job.yaml", "cronjob.yaml", "deployment.yaml"}, name)
		if workload {
			continue
		}
		if err := Apply(ctx, c, file, false); err != nil {
			return Accesses{}, err
		}
	}
	var a Accesses
	if a.Evenkeel, err = c.KubeconfigFor(ctx, Namespace, "evenkeel"); err != nil {
		return a, err
	}
	a.Extender, err = c.KubeconfigFor(ctx, Namespace, "evenkeel-extender")
	return a, err
}

// Manifests lists the shipped manifests in an order in which they can be
// applied.
func Manifests(ctx context.Context) ([]string, error) {
	root, err := Root(ctx)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, pattern := range []string{
		"base/namespace.yaml", "base/serviceaccount.yaml", "base/*role.yaml", "base/policy-configmap.yaml",
		"overlays/*/rbac.yaml", "overlays/*/config.yaml", "overlays/*/networkpolicy.yaml", "overlays/*/pdb.yaml", "overlays/*/*job.yaml", "overlays/*/deployment.yaml",
	} {
		found, err := filepath.Glob(filepath.Join(root, "deploy", pattern))
		if err != nil {
			return nil, fmt.Errorf("listing manifests: %w", err)
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return nil, errors.New("listing manifests: there are none")
	}
	return files, nil
}

// Components lists the shipped manifests that only some policies need.
func Components(ctx context.Context) ([]string, error) {
	root, err := Root(ctx)
	if err != nil {
		return nil, err
	}
	folders, err := filepath.Glob(filepath.Join(root, "deploy", "components", "*"))
	if err == nil && len(folders) == 0 {
		err = errors.New("there are none")
	}
	if err != nil {
		return nil, fmt.Errorf("listing components: %w", err)
	}
	var files []string
	for _, folder := range folders {
		resources, err := resourcesOf(folder)
		if err != nil {
			return nil, err
		}
		for _, file := range resources {
			if !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
	}
	return files, nil
}

// Component lists the manifests of a component and of the components that it includes.
func Component(ctx context.Context, name string) ([]string, error) {
	root, err := Root(ctx)
	if err != nil {
		return nil, err
	}
	return resourcesOf(filepath.Join(root, "deploy", "components", name))
}

func resourcesOf(folder string) ([]string, error) {
	path := filepath.Join(folder, "kustomization.yaml")
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a component: %w", err)
	}
	var component struct{ Resources, Components []string }
	if err := yaml.Unmarshal(content, &component); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	var files []string
	for _, name := range component.Components { // first, because they may define kinds that later manifests use
		included, err := resourcesOf(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		files = append(files, included...)
	}
	for _, name := range component.Resources {
		files = append(files, filepath.Join(folder, name))
	}
	return files, nil
}

// Apply creates or replaces every object in a manifest. With dryRun, the API server only
// validates them.
func Apply(ctx context.Context, c *cluster.Cluster, file string, dryRun bool) error {
	options := metav1.ApplyOptions{FieldManager: "evenkeel-test", Force: true}
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	return each(c, file, "applying", func(resource dynamic.ResourceInterface, object *unstructured.Unstructured) error {
		_, err := resource.Apply(ctx, object.GetName(), object, options)
		if apierrors.IsConflict(err) {
			return fmt.Errorf("resolving a conflict with another owner: %w", err)
		}
		return err
	})
}

// Delete deletes every object in a manifest.
func Delete(ctx context.Context, c *cluster.Cluster, file string) error {
	return each(c, file, "deleting", func(resource dynamic.ResourceInterface, object *unstructured.Unstructured) error {
		if err := resource.Delete(ctx, object.GetName(), metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
			return err
		}
		return nil
	})
}

// each calls do for each object in a manifest, with the client for the object's resource.
func each(c *cluster.Cluster, file, doing string, do func(dynamic.ResourceInterface, *unstructured.Unstructured) error) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("%s a manifest: %w", doing, err)
	}
	client, err := dynamic.NewForConfig(c.Config())
	if err != nil {
		return fmt.Errorf("%s %s: %w", doing, file, err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(c.Client().Discovery()))
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(content), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading %s: %w", file, err)
		}
		if len(object.Object) == 0 {
			continue
		}
		resource, err := resourceOf(client, mapper, object)
		if err == nil {
			err = do(resource, object)
		}
		if err != nil {
			return fmt.Errorf("%s %s of %s: %w", doing, object.GetKind(), file, err)
		}
	}
}

func resourceOf(client dynamic.Interface, mapper meta.RESTMapper, object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, fmt.Errorf("looking up its resource: %w", err)
	}
	resource := client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return resource.Namespace(object.GetNamespace()), nil
	}
	return resource, nil
}
