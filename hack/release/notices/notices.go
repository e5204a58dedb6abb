// Package notices collects the licenses of the modules that are linked into a program.
// Most licenses require that a copy is distributed with the binary.
package notices

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/evenkeel/evenkeel/hack/release/build"
)

// FileName is the name of the file that ships the notices.
const FileName = "THIRD_PARTY_NOTICES"

var (
	// legal matches the names of files that must be distributed. The Apache License requires
	// NOTICE.
	legal = regexp.MustCompile(`(?i)^([a-z0-9]+-)?(un)?(licen[cs]es?|copying|copyright|notices?|patents)([-._].*)?$`)
	// license matches the names of files that contain the license itself.
	license = regexp.MustCompile(`(?i)licen[cs]e|copying`)
)

// Of returns the text of all licenses of the modules that contain the given packages. It
// is an error if a module has no license.
//
// A package may have been copied from elsewhere, with its own license, so it is not
// enough to look in the module's root folder.
func Of(packages []build.Package) ([]byte, error) {
	files := map[string]map[string]bool{} // text to the modules that have it
	modules := map[string]bool{}
	looked := map[string]bool{}
	for _, p := range packages {
		name := p.Module.String()
		for dir := p.Dir; ; dir = filepath.Dir(dir) {
			if looked[dir] {
				break
			}
			looked[dir] = true
			below, err := filepath.Rel(p.Module.Dir, dir)
			if err != nil || strings.HasPrefix(below, "..") {
				return nil, fmt.Errorf("package %q is not in the folder %q of its module %s", p.Dir, p.Module.Dir, name)
			}
			texts, err := textsOf(dir)
			if err != nil {
				return nil, fmt.Errorf("reading the licenses of %s: %w", name, err)
			}
			for file, text := range texts {
				if files[text] == nil {
					files[text] = map[string]bool{}
				}
				files[text][name+": "+filepath.ToSlash(filepath.Join(below, file))] = true
			}
			if below == "." {
				if !slices.ContainsFunc(slices.Collect(maps.Keys(texts)), license.MatchString) {
					return nil, fmt.Errorf("%s has no license in %q: want a file such as LICENSE or COPYING", name, dir)
				}
				modules[name] = true
				break
			}
		}
	}
	return format(modules, files), nil
}

// textsOf returns the legal texts in a folder by file name.
func textsOf(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for _, entry := range entries {
		if !legal.MatchString(entry.Name()) || entry.IsDir() || filepath.Ext(entry.Name()) == ".go" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		texts[entry.Name()] = string(bytes.TrimSpace(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))))
	}
	return texts, nil
}

// format writes each text once, after the names of the files that contain it, because
// many modules have the same license.
func format(modules map[string]bool, files map[string]map[string]bool) []byte {
	var b bytes.Buffer
	b.WriteString("This program contains software of these modules. Their licenses follow.\n\n")
	for _, module := range slices.Sorted(maps.Keys(modules)) {
		fmt.Fprintf(&b, "    %s\n", module)
	}
	type entry struct {
		files []string
		text  string
	}
	var entries []entry
	for text, in := range files {
		entries = append(entries, entry{slices.Sorted(maps.Keys(in)), text})
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.files[0], b.files[0]) })
	for _, e := range entries {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(e.files, "\n"), e.text)
	}
	return b.Bytes()
}
