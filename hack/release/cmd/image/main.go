// Command image writes a container image of one of this checkout's programs as an OCI
// layout, with a bill of materials per platform next to it. It needs no container engine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/evenkeel/evenkeel/hack/release/build"
	"github.com/evenkeel/evenkeel/hack/release/notices"
	"github.com/evenkeel/evenkeel/hack/release/oci"
	"github.com/evenkeel/evenkeel/hack/release/sbom"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct{ program, version, source, out, platforms, base string }

func parse(args []string, output io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.StringVar(&o.program, "program", "evenkeel", "Program to ship: evenkeel or kube-scheduler.")
	flags.StringVar(&o.version, "version", "", "Version that the image and the program report.")
	flags.StringVar(&o.source, "source", "../..", "Folder of the checkout.")
	flags.StringVar(&o.out, "out", "", "Folder to write the OCI layout to; one that is there is replaced.")
	flags.StringVar(&o.platforms, "platforms", "linux/amd64,linux/arm64", "Platforms, with commas.")
	flags.StringVar(&o.base, "base", "", "Folder with an OCI layout to build on, which brings CA certificates and users. The default has these and nothing else.")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("arguments %q: there are only flags", flags.Args())
	}
	if o.out == "" {
		return o, errors.New("--out is missing: the folder to write to")
	}
	o.out = filepath.Clean(o.out)
	return o, nil
}

func run(ctx context.Context, args []string, output io.Writer) (err error) {
	o, err := parse(args, output)
	if err != nil {
		return err
	}
	program, err := build.Named(o.program)
	if err != nil {
		return err
	}
	platforms, err := build.Platforms(o.platforms, oci.Platforms)
	if err != nil {
		return err
	}
	source, err := build.Checkout(ctx, o.source, o.version, os.Getenv("SOURCE_DATE_EPOCH"))
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "image")
	if err != nil {
		return fmt.Errorf("making a folder for binaries: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	license, err := os.ReadFile(filepath.Join(o.source, "LICENSE"))
	if err != nil {
		return fmt.Errorf("reading the license: %w", err)
	}
	binaries, err := compile(ctx, source, program, platforms, scratch)
	if err != nil {
		return err
	}
	for i := range binaries {
		if binaries[i].Notices, err = licenses(ctx, o, source, program, binaries[i].Platform); err != nil {
			return err
		}
	}
	index, err := oci.Index(oci.Options{
		Program: program.Name, Time: source.Time, Labels: labels(program, source), Base: o.base, License: license,
	}, binaries)
	if err != nil {
		return err
	}
	if err := oci.Write(o.out, index, source.Version); err != nil {
		return err
	}
	if err := describe(o, source, binaries); err != nil {
		return err
	}
	return report(output, o.out, index)
}

// compile compiles a program and the programs that ship with it for each platform into a
// folder.
func compile(ctx context.Context, source build.Source, program build.Program, platforms []build.Platform, dir string) ([]oci.Binary, error) {
	var binaries []oci.Binary
	for _, p := range platforms {
		path := func(of build.Program) string {
			return filepath.Join(dir, strings.Join([]string{p.OS, p.Arch, of.Name}, "-"))
		}
		b := oci.Binary{Platform: p, Path: path(program), With: map[string]string{}}
		for _, other := range program.With {
			b.With[other.Name] = path(other)
		}
		for _, each := range program.All() {
			if err := source.Compile(ctx, each, p, path(each)); err != nil {
				return nil, err
			}
		}
		binaries = append(binaries, b)
	}
	return binaries, nil
}

// licenses returns the notices for a program's modules. Without a base, they include
// those for the CA certificates.
func licenses(ctx context.Context, o options, source build.Source, program build.Program, p build.Platform) ([]byte, error) {
	linked, err := source.Linked(ctx, program, p)
	if err != nil {
		return nil, err
	}
	if o.base == "" {
		certificates, err := build.Linked(ctx, ".", oci.CertificatesPackage, p)
		if err != nil {
			return nil, err
		}
		linked = append(linked, certificates...)
	}
	return notices.Of(linked)
}

// labels returns the OCI labels that describe an image.
func labels(program build.Program, source build.Source) map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title":         program.Title,
		prefix + "description":   program.Description,
		prefix + "version":       source.Version,
		prefix + "revision":      source.Revision,
		prefix + "created":       source.Time.Format(time.RFC3339),
		prefix + "source":        "https://github.com/evenkeel/evenkeel",
		prefix + "documentation": "https://github.com/evenkeel/evenkeel/blob/main/docs/README.md",
		prefix + "licenses":      "Apache-2.0",
	}
}

// describe writes a bill of materials per program and platform next to the layout,
// because a layout may contain only what an image refers to.
func describe(o options, source build.Source, binaries []oci.Binary) error {
	write := func(name, binary, out string, p build.Platform) error {
		text, err := sbom.Of(binary, sbom.Subject{Name: name, Version: source.Version, Platform: p, Time: source.Time})
		if err != nil {
			return err
		}
		if err := os.WriteFile(fmt.Sprintf("%s.%s-%s.cdx.json", out, p.OS, p.Arch), text, 0o644); err != nil {
			return fmt.Errorf("writing a bill of materials: %w", err)
		}
		return nil
	}
	for _, b := range binaries {
		if err := write(o.program, b.Path, o.out, b.Platform); err != nil {
			return err
		}
		for name, path := range b.With {
			if err := write(name, path, o.out+"."+name, b.Platform); err != nil {
				return err
			}
		}
	}
	return nil
}

// report prints the digest of an image, and the download size for each
// platform.
func report(output io.Writer, out string, index v1.ImageIndex) error {
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	fmt.Fprintf(output, "%s: %s\n", out, digest)
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, d := range manifest.Manifests {
		image, err := index.Image(d.Digest)
		if err != nil {
			return err
		}
		own, err := image.Manifest()
		if err != nil {
			return err
		}
		size := own.Config.Size
		for _, layer := range own.Layers {
			size += layer.Size
		}
		fmt.Fprintf(output, "  %s/%s: %.1f MB\n", d.Platform.OS, d.Platform.Architecture, float64(size)/1e6)
	}
	return nil
}
