package build

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// Program is a command in the checkout that is shipped.
type Program struct {
	// Name is the name of the binary.
	Name string
	// Title and Description are shown to people who inspect an image.
	Title, Description string
	// With lists programs that ship with this one, in the same image and archives.
	With []Program
	// folder is the folder of the checkout with the program's module; "" is the checkout
	// itself.
	folder string
	// variable is the variable that receives the version, with its package.
	variable string
	// module is the module whose version is used; "" is the checkout itself.
	module string
}

var programs = []Program{
	{
		Name: "evenkeel", Title: "Evenkeel",
		Description: "Balances Kubernetes nodes by real usage: moves pods off hot nodes and steers new pods to cool ones",
		variable:    "main.version",
		// `evenkeel simulate` and `evenkeel record` run it.
		With: []Program{{Name: "evenkeel-sim", variable: "main.version", folder: "sim"}},
	},
	{
		// The program is kube-scheduler, so its version is the version of Kubernetes.
		Name: "kube-scheduler", Title: "kube-scheduler with Evenkeel",
		Description: "The stock kube-scheduler with Evenkeel's plugin compiled in",
		variable:    "k8s.io/component-base/version.gitVersion", module: "k8s.io/kubernetes",
	},
}

// Named returns the program with the given name.
func Named(name string) (Program, error) {
	var names []string
	for _, p := range programs {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Program{}, fmt.Errorf("program %q: allowed are %s", name, strings.Join(names, ", "))
}

// All returns the program and the programs that ship with it.
func (p Program) All() []Program { return append([]Program{p}, p.With...) }

// settings holds the other environment variables that affect the bytes.
var settings = []string{"CGO_ENABLED=0", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFLAGS=", "GOWORK=off"}

// Compile compiles a program for a platform.
func (s Source) Compile(ctx context.Context, program Program, platform Platform, path string) error {
	version := s.Version
	if program.module != "" {
		list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}}", program.module)
		list.Dir = s.Dir
		var err error
		if version, err = output(list); err != nil {
			return fmt.Errorf("reading the version of %s: %w", program.module, err)
		}
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("resolving %q: %w", path, err)
	}
	// The binary must not depend on the folder or the state of the checkout.
	compile := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w -X "+program.variable+"="+version, "-o", path, "./cmd/"+program.Name)
	compile.Dir = filepath.Join(s.Dir, program.folder)
	compile.Env = environment(platform)
	if _, err := output(compile); err != nil {
		return fmt.Errorf("compiling %s for %s: %w", program.Name, platform, err)
	}
	return nil
}
