// Command release writes everything in a release of Evenkeel except its images: archives
// of the command with bills of materials, krew's manifest, the packaged chart, notes and
// checksums. Signing and publishing are left to the user.
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

	"github.com/evenkeel/evenkeel/hack/release/archive"
	"github.com/evenkeel/evenkeel/hack/release/build"
	"github.com/evenkeel/evenkeel/hack/release/changelog"
	"github.com/evenkeel/evenkeel/hack/release/krew"
	"github.com/evenkeel/evenkeel/hack/release/notices"
	"github.com/evenkeel/evenkeel/hack/release/sbom"
)

// platforms lists the platforms for which the command is released.
var platforms = []build.Platform{
	{OS: "darwin", Arch: "amd64"}, {OS: "darwin", Arch: "arm64"}, {OS: "linux", Arch: "amd64"}, {OS: "linux", Arch: "arm64"},
}

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
type options struct {
	version, source, out, platforms, chart, url string
	dirty                                       bool
}

func parse(args []string, output io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.StringVar(&o.version, "version", "", "Version to release, such as v1.2.3.")
	flags.StringVar(&o.source, "source", "../..", "Folder of the checkout.")
	flags.StringVar(&o.out, "out", "", "Folder to write to, which must be empty or new.")
	flags.StringVar(&o.platforms, "platforms", "darwin/amd64,darwin/arm64,linux/amd64,linux/arm64", "Platforms, with commas.")
	flags.StringVar(&o.chart, "chart", "", "Chart that helm packaged, to release as well.")
	flags.StringVar(&o.url, "url", "https://github.com/evenkeel/evenkeel/releases/download", "Where the archives will be: <url>/<version>/<archive>.")
	flags.BoolVar(&o.dirty, "dirty", false, "Also release files that differ from the commit, to try it.")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("arguments %q: there are only flags", flags.Args())
	}
	if o.out == "" {
		return o, errors.New("--out is missing: the folder to write to")
	}
	return o, changelog.Check(o.version)
}

func run(ctx context.Context, args []string, output io.Writer) error {
	o, err := parse(args, output)
	if err != nil {
		return err
	}
	for _, name := range []string{"CHANGELOG.md", "LICENSE"} {
		if _, err := os.Stat(filepath.Join(o.source, name)); err != nil {
			return fmt.Errorf("looking for what a release needs: %w", err)
		}
	}
	r := &release{options: o}
	if r.platforms, err = build.Platforms(o.platforms, platforms); err != nil {
		return err
	}
	if r.checkout, err = build.Checkout(ctx, o.source, o.version, os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
		return err
	}
	if r.checkout.Dirty() && !o.dirty {
		return fmt.Errorf("%s: files differ from the commit (revision %s): commit them, or try it with --dirty", o.source, r.checkout.Revision)
	}
	if err := emptyFolder(o.out); err != nil {
		return err
	}
	// The notes come first, because compiling takes minutes.
	for _, step := range []func(context.Context) error{r.notes, r.chart, r.archives, r.sums} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	fmt.Fprintf(output, "%s: %d files, revision %s\n", o.out, len(r.written), r.checkout.Revision)
	return nil
}

// release holds the state of one run.
type release struct {
	options
	checkout  build.Source
	platforms []build.Platform
	written   []string
}

func emptyFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the folder of the release: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%q has files: want an empty folder, so that the checksums are of this release alone", dir)
	}
	return err
}

func (r *release) write(name string, content []byte) error {
	if err := os.WriteFile(filepath.Join(r.out, name), content, 0o644); err != nil {
		return fmt.Errorf("writing the release: %w", err)
	}
	r.written = append(r.written, name)
	return nil
}

func (r *release) notes(context.Context) error {
	path := filepath.Join(r.source, "CHANGELOG.md")
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the changes: %w", err)
	}
	notes, err := changelog.Notes(path, string(text), r.version)
	if err != nil {
		return err
	}
	return r.write("NOTES.md", []byte(notes))
}

func (r *release) chart(context.Context) error {
	if r.options.chart == "" {
		return nil
	}
	packaged, err := os.ReadFile(r.options.chart)
	if err != nil {
		return fmt.Errorf("reading the chart: %w", err)
	}
	name := filepath.Base(r.options.chart)
	if want := "evenkeel-" + strings.TrimPrefix(r.version, "v") + ".tgz"; name != want {
		return fmt.Errorf("chart %q: want %s, with the version of the release", r.options.chart, want)
	}
	same, err := archive.Repack(packaged, r.checkout.Time)
	if err != nil {
		return fmt.Errorf("repacking %s: %w", r.options.chart, err)
	}
	return r.write(name, same)
}

// archives compiles the command for every platform, and writes krew's manifest
// with the checksums of the archives.
func (r *release) archives(ctx context.Context) error {
	program, err := build.Named("evenkeel")
	if err != nil {
		return err
	}
	license, err := os.ReadFile(filepath.Join(r.source, "LICENSE"))
	if err != nil {
		return fmt.Errorf("reading the license: %w", err)
	}
	var downloads []krew.Archive
	for _, p := range r.platforms {
		packed, err := r.archive(ctx, program, p, license)
		if err != nil {
			return err
		}
		name := r.name(program, p) + ".tar.gz"
		if err := r.write(name, packed); err != nil {
			return err
		}
		downloads = append(downloads, krew.Archive{Platform: p, URL: r.url + "/" + r.version + "/" + name, Sum: archive.Sum(packed)})
	}
	manifest, err := krew.Manifest(r.version, downloads)
	if err != nil {
		return err
	}
	return r.write("krew-evenkeel.yaml", manifest)
}

func (r *release) name(program build.Program, p build.Platform) string {
	return strings.Join([]string{program.Name, r.version, p.OS, p.Arch}, "-")
}

// archive compiles the command and the programs that ship with it for a platform, writes
// their bills of materials and returns the archive.
func (r *release) archive(ctx context.Context, program build.Program, p build.Platform, license []byte) (packed []byte, err error) {
	scratch, err := os.MkdirTemp("", "release")
	if err != nil {
		return nil, fmt.Errorf("making a folder for binaries: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	var files []archive.File
	for _, each := range program.All() {
		binary := filepath.Join(scratch, each.Name)
		if err := r.checkout.Compile(ctx, each, p, binary); err != nil {
			return nil, err
		}
		bill, err := sbom.Of(binary, sbom.Subject{Name: each.Name, Version: r.version, Platform: p, Time: r.checkout.Time})
		if err != nil {
			return nil, err
		}
		if err := r.write(r.name(each, p)+".cdx.json", bill); err != nil {
			return nil, err
		}
		content, err := os.ReadFile(binary)
		if err != nil {
			return nil, fmt.Errorf("reading what was compiled: %w", err)
		}
		files = append(files, archive.File{Name: each.Name, Mode: 0o755, Content: content})
	}
	linked, err := r.checkout.Linked(ctx, program, p)
	if err != nil {
		return nil, err
	}
	licenses, err := notices.Of(linked)
	if err != nil {
		return nil, err
	}
	return archive.TarGz(append(files,
		archive.File{Name: "LICENSE", Mode: 0o644, Content: license}, archive.File{Name: notices.FileName, Mode: 0o644, Content: licenses},
	), r.checkout.Time)
}

func (r *release) sums(context.Context) error {
	sums, err := archive.Sums(r.out)
	if err != nil {
		return err
	}
	return r.write(archive.SumsName, sums)
}
