package filewatch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const most = 100

// mount is a folder laid out as the kubelet mounts a ConfigMap: the file is a link into ..data,
// which is a link to a folder that never changes.
type mount struct {
	t        *testing.T
	root     string
	versions int
}

func newMount(t *testing.T, content string) *mount {
	m := &mount{t: t, root: t.TempDir()}
	m.swap(content)
	m.must(os.Symlink(filepath.Join("..data", "policy.yaml"), m.path()))
	return m
}

func (m *mount) path() string { return filepath.Join(m.root, "policy.yaml") }

func (m *mount) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// swap installs another version with one rename.
func (m *mount) swap(content string) {
	m.t.Helper()
	m.versions++
	version := fmt.Sprintf("..version_%d", m.versions)
	m.must(os.Mkdir(filepath.Join(m.root, version), 0o755))
	m.must(os.WriteFile(filepath.Join(m.root, version, "policy.yaml"), []byte(content), 0o600))
	m.must(os.Symlink(version, filepath.Join(m.root, "..data_tmp")))
	m.must(os.Rename(filepath.Join(m.root, "..data_tmp"), filepath.Join(m.root, "..data")))
}

func (m *mount) write(content string) {
	m.t.Helper()
	m.must(os.WriteFile(m.path(), []byte(content), 0o600))
}

// Content is reported once it has been read twice, and only once.
func TestRunReportsEachContentOnce(t *testing.T) {
	const second = time.Second
	cases := map[string]struct {
		// steps are one second apart. The file is read every second, half a second after a step.
		steps []func(*mount)
		want  []string
	}{
		"nothing changes": {
			steps: []func(*mount){nil, nil, nil},
		},
		"the mount is swapped": {
			steps: []func(*mount){func(m *mount) { m.swap("two") }, nil, nil, nil},
			want:  []string{"two"},
		},
		"the mount is swapped to the same content": {
			steps: []func(*mount){func(m *mount) { m.swap("one") }, nil, nil},
		},
		"swapped twice": {
			steps: []func(*mount){func(m *mount) { m.swap("two") }, nil, func(m *mount) { m.swap("three") }, nil, nil},
			want:  []string{"two", "three"},
		},
		"reported again until it is handled": {
			steps: []func(*mount){func(m *mount) { m.swap("busy") }, nil, nil, nil, nil, nil},
			want:  []string{"busy", "busy", "busy"},
		},
		"swapped and back": {
			steps: []func(*mount){func(m *mount) { m.swap("two") }, nil, func(m *mount) { m.swap("one") }, nil, nil},
			want:  []string{"two", "one"},
		},
		"back before it was stable": {
			steps: []func(*mount){func(m *mount) { m.swap("two") }, func(m *mount) { m.swap("one") }, nil, nil},
		},
		"written in pieces": {
			steps: []func(*mount){
				func(m *mount) { m.write("t") }, func(m *mount) { m.write("tw") }, func(m *mount) { m.write("two") }, nil, nil,
			},
			want: []string{"two"},
		},
		"gone and there again": {
			steps: []func(*mount){
				func(m *mount) { m.must(os.Remove(m.path())) }, nil, nil,
				func(m *mount) { m.must(os.Symlink(filepath.Join("..data", "policy.yaml"), m.path())) }, nil, nil,
			},
			want: []string{"error: not there", "one"},
		},
		"gone for a moment": {
			steps: []func(*mount){
				func(m *mount) { m.must(os.Remove(m.path())) },
				func(m *mount) { m.must(os.Symlink(filepath.Join("..data", "policy.yaml"), m.path())) }, nil, nil,
			},
		},
		"too long": {
			steps: []func(*mount){func(m *mount) { m.swap(strings.Repeat("x", most+1)) }, nil, nil, func(m *mount) { m.swap("two") }, nil, nil},
			want:  []string{"error: other", "two"},
		},
		"as long as it may be": {
			steps: []func(*mount){func(m *mount) { m.swap(strings.Repeat("x", most)) }, nil, nil},
			want:  []string{strings.Repeat("x", most)},
		},
		"empty": {
			steps: []func(*mount){func(m *mount) { m.swap("") }, nil, nil},
			want:  []string{""},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := newMount(t, "one")
				var got []string
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				go func() {
					done <- Run(ctx, Config{
						Path: m.path(), Interval: second, MaxBytes: most, Known: []byte("one"),
						Changed: func(_ context.Context, content []byte, err error) bool {
							got = append(got, describe(content, err))
							return string(content) != "busy" || len(got) > 2
						},
					})
				}()
				time.Sleep(second / 2)
				for _, step := range tc.steps {
					if step != nil {
						step(m)
					}
					time.Sleep(second)
				}
				cancel()
				if err := <-done; err != nil {
					t.Errorf("Run: %v", err)
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("reported (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func describe(content []byte, err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "error: not there"
	case err != nil:
		return "error: other"
	}
	return string(content)
}

func TestRunIsChecked(t *testing.T) {
	good := Config{Path: "x", MaxBytes: 1, Changed: func(context.Context, []byte, error) bool { return true }}
	cases := map[string]func(*Config){
		"no path":             func(c *Config) { c.Path = "" },
		"nobody to tell":      func(c *Config) { c.Changed = nil },
		"no bound":            func(c *Config) { c.MaxBytes = 0 },
		"a negative interval": func(c *Config) { c.Interval = -1 },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			config := good
			change(&config)
			if err := Run(t.Context(), config); err == nil {
				t.Error("no error")
			}
		})
	}
}
