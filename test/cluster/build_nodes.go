package cluster

import (
	"context"
	"io"
	"path"
	"path/filepath"
)

const (
	// NodeProgram is the name of the binary that makes nodes and runs in their containers,
	// and of its module's folder.
	NodeProgram = "evenkeel-node"
	// ociRuntime is the name of a link to NodeProgram. Called by this name, NodeProgram runs
	// runc.
	ociRuntime = "oci-runtime"

	kubeletPackage = "k8s.io/kubernetes/cmd/kubelet"
	containerd     = "github.com/containerd/containerd/v2/cmd/"
	cniPlugins     = "github.com/containernetworking/plugins/plugins/"
)

// BuildNodes compiles everything that nodes of package kubelets run into binDir, which
// already contains the control plane of the default release: the release's kubelet,
// containerd, runc, the CNI plugins, and the program that starts them. It takes minutes
// the first time. runc needs a C compiler.
func BuildNodes(ctx context.Context, binDir string, progress io.Writer) error {
	return compileAll(ctx, binDir, progress, func(moduleDir, binDir string) ([]compilation, map[string]string, error) {
		version, err := DefaultRelease.version(ctx, moduleDir)
		if err != nil {
			return nil, nil, err
		}
		run := func(what, module, folder, flags string, packages ...string) compilation {
			binDir := filepath.Join(binDir, folder)
			arguments := []string{"-o", binDir + string(filepath.Separator), "-ldflags", "-s -w " + flags}
			return compilation{what: what, dir: filepath.Join(moduleDir, module), binDir: binDir, arguments: arguments, packages: packages}
		}
		containers := run("containerd and runc", NodeProgram, "", "",
			containerd+"containerd", containerd+"containerd-shim-runc-v2", containerd+"ctr", "github.com/opencontainers/runc")
		containers.arguments = append(containers.arguments, "-tags", "no_btrfs,no_devmapper,no_zfs")
		program := run("the program that starts nodes", NodeProgram, "", "", path.Join(modulePath, NodeProgram))
		program.static = true // the image contains no other file
		runs := []compilation{
			run("kubelet "+version, "", "", stamp(version), kubeletPackage),
			containers,
			run("CNI plugins", NodeProgram, "cni", "", cniPlugins+"main/ptp", cniPlugins+"main/loopback", cniPlugins+"ipam/host-local"),
			program,
		}
		for i := range runs {
			runs[i].arguments = append(runs[i].arguments, runs[i].packages...)
		}
		return runs, map[string]string{ociRuntime: NodeProgram}, nil
	})
}
