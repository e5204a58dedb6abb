package build

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Package is a Go package that is linked into a program.
type Package struct {
	// Dir is the package's folder.
	Dir string
	// Module is the module that contains the package.
	Module Module
}

// Module is a Go module whose packages are linked.
type Module struct {
	// Path is the module's path, or Stdlib.
	Path string
	// Version is the module's version; empty for the standard library.
	Version string
	// Dir is the folder of the module's sources.
	Dir string
}

// Stdlib is the name of the standard library in bills of materials.
const Stdlib = "stdlib"

// String returns the module as go list -m prints it.
func (m Module) String() string { return strings.TrimSpace(m.Path + " " + m.Version) }

// Linked lists the packages of other modules, and of the standard library, that Compile
// links into a program and the programs that ship with it, for a platform.
func (s Source) Linked(ctx context.Context, program Program, platform Platform) (all []Package, err error) {
	for _, p := range program.All() {
		packages, err := Linked(ctx, filepath.Join(s.Dir, p.folder), "./cmd/"+p.Name, platform)
		if err != nil {
			return nil, err
		}
		all = append(all, packages...)
	}
	return all, nil
}

// Linked lists the packages of other modules that a package needs. dir is a folder of the
// module that is built. A module that contains this one belongs to the same checkout and
// is left out.
func Linked(ctx context.Context, dir, name string, platform Platform) ([]Package, error) {
	command := func(args ...string) (string, error) {
		c := exec.CommandContext(ctx, "go", args...)
		c.Dir, c.Env = dir, environment(platform)
		return output(c)
	}
	goroot, err := command("env", "GOROOT")
	if err != nil {
		return nil, fmt.Errorf("looking for the standard library: %w", err)
	}
	main, err := command("env", "GOMOD")
	if err != nil {
		return nil, fmt.Errorf("looking for the module: %w", err)
	}
	out, err := command("list", "-deps", "-json=Dir,Standard,Module", name)
	if err != nil {
		return nil, fmt.Errorf("listing the packages of %s for %s: %w", name, platform, err)
	}
	var packages []Package
	for in := json.NewDecoder(strings.NewReader(out)); ; {
		var listed struct {
			Dir      string
			Standard bool
			Module   *struct {
				Module
				Main    bool
				Replace *Module
			}
		}
		err := in.Decode(&listed)
		switch {
		case errors.Is(err, io.EOF):
			return packages, nil
		case err != nil:
			return nil, fmt.Errorf("listing the packages of %s for %s: %w", name, platform, err)
		case listed.Standard:
			packages = append(packages, Package{Dir: listed.Dir, Module: Module{Path: Stdlib, Dir: goroot}})
		case listed.Module == nil:
			return nil, fmt.Errorf("listing the packages of %s for %s: %s belongs to no module", name, platform, filepath.Base(listed.Dir))
		case listed.Module.Main, nested(filepath.Dir(main), listed.Module.Dir):
		case listed.Module.Replace != nil:
			packages = append(packages, Package{Dir: listed.Dir, Module: *listed.Module.Replace})
		default:
			packages = append(packages, Package{Dir: listed.Dir, Module: listed.Module.Module})
		}
	}
}

// nested reports whether one folder is below another.
func nested(folder, other string) bool {
	return other != "" && strings.HasPrefix(folder, strings.TrimSuffix(other, string(filepath.Separator))+string(filepath.Separator))
}

// environment returns the environment of Go commands for a platform.
func environment(platform Platform) []string {
	return append(append(os.Environ(), settings...), "GOOS="+platform.OS, "GOARCH="+platform.Arch)
}
