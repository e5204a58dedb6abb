package report

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// browsers are the names of the programs that can be a headless Chromium.
var browsers = []string{"chromium-headless-shell", "headless_shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// browser runs Chromium on pages. The test is skipped if no browser is installed.
type browser struct{ program, profile string }

func newBrowser(t *testing.T) *browser {
	t.Helper()
	for _, name := range browsers {
		if program, err := exec.LookPath(name); err == nil {
			b := &browser{program: program, profile: filepath.Join(t.TempDir(), "profile")}
			t.Cleanup(func() { // helper processes still write for a moment after the browser has exited
				for range 100 {
					if os.RemoveAll(b.profile) == nil {
						return
					}
					<-time.After(50 * time.Millisecond)
				}
			})
			return b
		}
	}
	t.Skipf("no Chromium on this machine: none of %s is in PATH", strings.Join(browsers, ", "))
	return nil
}

// open shows a page and returns what the browser prints. Anything that the page logs, including
// errors, fails the test.
func (b *browser) open(t *testing.T, page string, flags ...string) []byte {
	t.Helper()
	const patience = 5 * time.Minute // on a machine that is busy with other tests
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	common := []string{
		"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb", "--enable-logging=stderr",
		"--user-data-dir=" + b.profile, "--window-size=1200,4200", "--virtual-time-budget=10000",
	}
	command := exec.CommandContext(ctx, b.program, append(append(common, flags...), "file://"+page)...)
	var out, log bytes.Buffer
	command.Stdout, command.Stderr, command.WaitDelay = &out, &log, 10*time.Second
	if err := command.Run(); err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatalf("running %s: %v\n%s", b.program, err, log.String())
	}
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, "CONSOLE") {
			t.Errorf("the page logs: %s", strings.TrimSpace(line))
		}
	}
	return out.Bytes()
}

func save(t *testing.T, page []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(path, page, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// shot returns a picture of a page.
func (b *browser) shot(t *testing.T, page string, flags ...string) image.Image {
	t.Helper()
	path := filepath.Join(t.TempDir(), "page.png")
	b.open(t, page, append(flags, "--screenshot="+path)...)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return shown
}

// dots counts the pixels of a picture by colour.
func dots(shown image.Image) map[color.RGBA]int {
	counts := map[color.RGBA]int{}
	for y := range shown.Bounds().Dy() {
		for x := range shown.Bounds().Dx() {
			r, g, b, _ := shown.At(x, y).RGBA()
			counts[color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 255}]++
		}
	}
	return counts
}

// A browser shows every plot with its colours, on light and dark backgrounds.
func TestBrowserDrawsThePage(t *testing.T) {
	b := newBrowser(t)
	page := save(t, render(t, heading(), replay()))
	for name, tc := range map[string]struct {
		flags   []string
		ground  color.RGBA
		best    color.RGBA
		rival   color.RGBA
		planned color.RGBA
	}{
		"light": {
			flags:  []string{"--blink-settings=preferredColorScheme=1"},
			ground: color.RGBA{255, 255, 255, 255}, best: color.RGBA{0, 114, 178, 255}, rival: color.RGBA{213, 94, 0, 255},
			planned: color.RGBA{0, 114, 178, 255},
		},
		"dark": {
			flags:  []string{"--blink-settings=preferredColorScheme=0"},
			ground: color.RGBA{20, 23, 27, 255}, best: color.RGBA{86, 180, 233, 255}, rival: color.RGBA{255, 139, 77, 255},
			planned: color.RGBA{59, 155, 214, 255},
		},
	} {
		t.Run(name, func(t *testing.T) {
			counts := dots(b.shot(t, page, tc.flags...))
			s := newScale(70)
			for what, want := range map[string]struct {
				colour color.RGBA
				least  int
			}{
				"the ground":                             {tc.ground, 1_000_000},
				"cells far below the line":               {s.colour(2), 1000},
				"cells just above the line":              {s.colour(s.cool), 1000},
				"cells close to the end":                 {s.colour(s.cool + 3), 1000},
				"the best one's curve, bars and landing": {tc.best, 1000},
				"its rival's curve and bars":             {tc.rival, 10_000},
				"landings on plan":                       {tc.planned, 1000},
			} {
				if counts[want.colour] < want.least {
					t.Errorf("%s: %d dots of the colour %v, want at least %d", what, counts[want.colour], want.colour, want.least)
				}
			}
		})
	}
}

// If the pointer is over a heat map, the page describes the cell below it and logs nothing.
func TestBrowserDescribesCells(t *testing.T) {
	b := newBrowser(t)
	page := render(t, heading(), replay())
	const hover = `<script>addEventListener("load", function () { setTimeout(function () {
for (const svg of document.querySelectorAll("svg.heatmap")) {
const box = svg.querySelector("image").getBoundingClientRect();
svg.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + 0.5 * box.width, clientY: box.top + 2}));
} }, 1000); });</script></body>`
	dom := b.open(t, save(t, bytes.Replace(page, []byte("</body>"), []byte(hover), 1)), "--dump-dom")
	var told []string
	for _, match := range regexp.MustCompile(`<output[^>]*>([^<]*)</output>`).FindAllSubmatch(dom, -1) {
		told = append(told, string(match[1]))
	}
	if len(told) != 4 {
		t.Fatalf("%d heat maps describe their cells, want 4:\n%s", len(told), dom)
	}
	// The fullest of the baseline's nodes is at 90% ± 3.
	if !regexp.MustCompile(`^row 1 of 12, 50% of the way through: (85 to 90|90 to 95)%$`).MatchString(told[0]) {
		t.Errorf("the first heat map shows %q", told[0])
	}
	// The fullest of the oracle's nodes is at 55% ± 3.
	if !regexp.MustCompile(`^row 1 of 12, 50% of the way through: (50 to 55|55 to 60)%$`).MatchString(told[3]) {
		t.Errorf("the last heat map shows %q", told[3])
	}
}
