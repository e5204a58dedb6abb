package cluster

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Release is a minor version of Kubernetes from which a control plane is built,
// such as 1.36.
type Release string

// DefaultRelease is the release that this module requires.
const DefaultRelease Release = "1.36"

// versions is the folder with the module files of other releases. Each requires only what
// the control plane needs.
const versions = "versions"

// Releases returns the releases for which there are modules, oldest first.
func Releases(ctx context.Context) ([]Release, error) {
	dir, err := ModuleDir(ctx)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(dir, versions, "*.mod"))
	if err != nil {
		return nil, fmt.Errorf("listing the releases of Kubernetes: %w", err)
	}
	releases := []Release{DefaultRelease}
	for _, file := range files {
		releases = append(releases, Release(strings.TrimSuffix(filepath.Base(file), ".mod")))
	}
	slices.Sort(releases) // sorting as text is correct from 1.10 to 1.99
	return releases, nil
}

// ParseRelease returns a release for which there are modules.
func ParseRelease(ctx context.Context, name string) (Release, error) {
	releases, err := Releases(ctx)
	if err != nil {
		return "", err
	}
	if !slices.Contains(releases, Release(name)) {
		return "", fmt.Errorf("no control plane can be built of Kubernetes %q; there are modules for %s", name, releases)
	}
	return Release(name), nil
}

// BinDir returns the folder for the binaries of a release.
func (r Release) BinDir(ctx context.Context) (string, error) {
	dir, err := ModuleDir(ctx)
	if err != nil {
		return "", err
	}
	if r == DefaultRelease {
		return filepath.Join(dir, "_build", "bin"), nil
	}
	return filepath.Join(dir, "_build", string(r), "bin"), nil
}

// modfile returns the go command's flag for the release's module file.
func (r Release) modfile() []string {
	if r == DefaultRelease {
		return nil
	}
	return []string{"-modfile=" + filepath.Join(versions, string(r)+".mod")}
}

// version returns the Kubernetes version that the module file requires, which the API
// server reports.
func (r Release) version(ctx context.Context, moduleDir string) (string, error) {
	arguments := slices.Concat([]string{"list", "-m", "-f", "{{.Version}}"}, r.modfile(), []string{"k8s.io/kubernetes"})
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir = moduleDir
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("reading the version of Kubernetes %s: %w", r, withStderr(err))
	}
	return strings.TrimSpace(string(out)), nil
}
