// Package archive writes tar archives and lists of checksums whose bytes depend only on
// names, modes, contents and a given time.
package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// File is an entry of an archive. Folders have names that end in "/".
type File struct {
	Name    string
	Mode    int64
	Content []byte
}

// Tar writes files, sorted by name, owned by root and with the given modification time.
func Tar(w io.Writer, files []File, at time.Time) error {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	out := tar.NewWriter(w)
	for i, f := range files {
		if i > 0 && files[i-1].Name == f.Name {
			return fmt.Errorf("archiving %s: it is there twice", f.Name)
		}
		header := &tar.Header{Name: f.Name, Mode: f.Mode, Size: int64(len(f.Content)), ModTime: at, Format: tar.FormatUSTAR, Typeflag: tar.TypeReg}
		if strings.HasSuffix(f.Name, "/") {
			header.Typeflag = tar.TypeDir
		}
		if err := out.WriteHeader(header); err != nil {
			return fmt.Errorf("archiving %s: %w", f.Name, err)
		}
		if _, err := out.Write(f.Content); err != nil {
			return fmt.Errorf("archiving %s: %w", f.Name, err)
		}
	}
	return out.Close()
}

// TarGz returns files as a compressed archive. The compression header contains neither a
// name nor a time.
func TarGz(files []File, at time.Time) ([]byte, error) {
	var b bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := Tar(compressed, files, at); err != nil {
		return nil, err
	}
	err = compressed.Close()
	return b.Bytes(), err
}

// most is the maximum size of an archive to unpack.
const most = 1 << 30

// Untar reads the files in a compressed archive.
func Untar(compressed []byte) ([]File, error) {
	plain, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	in := tar.NewReader(io.LimitReader(plain, most))
	var files []File
	for {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files, nil
		}
		if err != nil {
			return nil, fmt.Errorf("unpacking: %w", err)
		}
		content, err := io.ReadAll(in)
		if err != nil {
			return nil, fmt.Errorf("unpacking %s: %w", header.Name, err)
		}
		files = append(files, File{Name: header.Name, Mode: header.Mode, Content: content})
	}
}

// Repack returns an archive made by another tool, such as a chart packaged by helm,
// without the parts that differ between two runs of the tool.
func Repack(compressed []byte, at time.Time) ([]byte, error) {
	files, err := Untar(compressed)
	if err != nil {
		return nil, err
	}
	return TarGz(files, at)
}

// Sum returns the SHA-256 of content in hexadecimal digits.
func Sum(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }

// SumsName is the name of the file with the result of Sums.
const SumsName = "SHA256SUMS"

// Sums lists the checksums of all other files in a folder, in the format of sha256sum
// --check.
func Sums(dir string) ([]byte, error) {
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return nil, fmt.Errorf("listing what to sum up: %w", err)
	}
	var b bytes.Buffer
	for _, entry := range entries {
		if entry.Name() == SumsName {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("summing up %s: %w", entry.Name(), err)
		}
		fmt.Fprintf(&b, "%s  %s\n", Sum(content), entry.Name())
	}
	return b.Bytes(), nil
}
