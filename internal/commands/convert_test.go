package commands

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/migration"
	"github.com/evenkeel/evenkeel/policy"
	"github.com/evenkeel/evenkeel/usage/kinds"
)

const oldPolicy = "apiVersion: descheduler/v1alpha1\nkind: DeschedulerPolicy\nstrategies: {RemoveDuplicates: {enabled: true}}\n"

func TestConvertReadsAndWritesFiles(t *testing.T) {
	folder := t.TempDir()
	from, to := filepath.Join(folder, "old.yaml"), filepath.Join(folder, "new.yaml")
	if err := os.WriteFile(from, []byte(oldPolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, progress bytes.Buffer
	if err := Convert(ConvertOptions{From: from, To: to}, nil, &out, &progress); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	if file, err := migration.Load(to, written, kinds.All); err != nil || len(file.Converted) != 0 {
		t.Errorf("what was written: %v\n%s", err, written)
	}
	if out.Len() > 0 {
		t.Errorf("it wrote to the standard output as well:\n%s", out.String())
	}
	if want := from + ": line 1: descheduler/v1alpha1 DeschedulerPolicy: converted\n"; !strings.HasPrefix(progress.String(), want) {
		t.Errorf("progress:\n%s\nwant it to begin with %q", progress.String(), want)
	}
	piped, _, err := convertText(t, oldPolicy)
	if err != nil || piped != string(written) {
		t.Errorf("through a pipe: %v\n%s\nwant\n%s", err, piped, written)
	}
}

// A file that cannot be converted leaves what was to be written as it was.
func TestConvertWritesNothingOfABadFile(t *testing.T) {
	to := filepath.Join(t.TempDir(), "new.yaml")
	if err := os.WriteFile(to, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"an unknown kind": "apiVersion: x/v1\nkind: Unknown\n",
		"too large":       strings.Repeat("#", policy.MaxFileBytes+1),
	} {
		err := Convert(ConvertOptions{From: Standard, To: to}, strings.NewReader(text), &bytes.Buffer{}, &bytes.Buffer{})
		if exit.Code(err) != exit.Misuse || strings.Count(err.Error(), "\n") > 0 || !strings.HasPrefix(err.Error(), "stdin: ") {
			t.Errorf("%s: exit code %d for %v", name, exit.Code(err), err)
		}
	}
	if left, err := os.ReadFile(to); err != nil || string(left) != "mine" {
		t.Errorf("the file has %q, %v", left, err)
	}
	err := Convert(ConvertOptions{From: filepath.Join(t.TempDir(), "absent"), To: Standard}, nil, &bytes.Buffer{}, &bytes.Buffer{})
	if exit.Code(err) != exit.Misuse {
		t.Errorf("exit code %d for %v", exit.Code(err), err)
	}
}
