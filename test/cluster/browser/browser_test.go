package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browsers are the names of the programs that can be a headless Chromium.
var browsers = []string{"chromium-headless-shell", "headless_shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// shots is the folder for screenshots; if it is empty, none are taken.
var shots = os.Getenv("EVENKEEL_SCREENSHOTS")

type tab struct {
	// t is the test or subtest that is using the tab.
	t   *testing.T
	ctx context.Context

	mu sync.Mutex
	// said is what the page wrote to the console and what the browser reported about the page.
	said []string
}

// open starts a browser with one tab, or skips the test if no browser is installed.
func open(t *testing.T) *tab {
	t.Helper()
	program := ""
	for _, name := range browsers {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		t.Skipf("no Chromium on this machine: none of %s is in PATH", strings.Join(browsers, ", "))
	}
	profile := filepath.Join(t.TempDir(), "profile")
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(program), chromedp.UserDataDir(profile), chromedp.WSURLReadTimeout(time.Minute)}
	for _, flag := range []string{
		"headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking", "disable-component-update", "disable-sync",
	} {
		options = append(options, chromedp.Flag(flag, true))
	}
	allocator, stop := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	b := &tab{t: t}
	var leave context.CancelFunc
	b.ctx, leave = chromedp.NewContext(allocator, chromedp.WithErrorf(func(string, ...any) {})) // it would report events that the library does not know yet
	t.Cleanup(func() {
		if err := chromedp.Cancel(b.ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("closing the browser: %v", err)
		}
		leave()
		stop()
		for range 100 { // helper processes still write for a moment after the browser has exited
			if os.RemoveAll(profile) == nil {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
	})
	chromedp.ListenTarget(b.ctx, b.listen)
	b.do(chromedp.EmulateViewport(1280, 800))
	return b
}

func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		b.said = append(b.said, "console: "+string(e.Type))
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, "exception: "+e.ExceptionDetails.Error())
	case *log.EventEntryAdded:
		b.said = append(b.said, fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
	}
}

// part runs a subtest, which fails if the page or the browser reported anything.
func (b *tab) part(t *testing.T, name string, run func(t *testing.T)) {
	t.Helper()
	whole := b.t
	defer func() { b.t = whole }()
	t.Run(name, func(t *testing.T) {
		b.t = t
		run(t)
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, line := range b.said {
			t.Errorf("the browser reports %s", line)
		}
		b.said = nil
	})
}

func (b *tab) do(actions ...chromedp.Action) {
	b.t.Helper()
	const patience = time.Minute // for a busy machine
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if b.ctx.Err() == nil && chromedp.FromContext(b.ctx).Target == nil {
		ctx = b.ctx // the first call starts the browser, and a timeout would end it
	}
	if err := chromedp.Run(ctx, actions...); err != nil {
		b.t.Fatalf("in the browser: %v", err)
	}
}

// read evaluates an expression and decodes its value.
func (b *tab) read(expression string, into any) {
	b.t.Helper()
	b.do(chromedp.Evaluate(expression, into))
}

func (b *tab) text(selector string) (text string) {
	b.t.Helper()
	b.read(fmt.Sprintf("document.querySelector(%q).textContent.trim().replace(/\\s+/g, ' ')", selector), &text)
	return text
}

// until waits until an expression is true, and returns how long that took.
func (b *tab) until(expression string, within time.Duration) time.Duration {
	b.t.Helper()
	began := time.Now()
	for {
		var is bool
		b.read(expression, &is)
		took := time.Since(began)
		if is {
			return took
		}
		if took > within {
			b.t.Errorf("not within %v: %s", within, expression)
			return took
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// html returns the browser's current page, without the script.
func (b *tab) html() (text string) {
	b.t.Helper()
	b.do(chromedp.ActionFunc(func(ctx context.Context) error {
		root, err := dom.GetDocument().Do(ctx)
		if err != nil {
			return err
		}
		text, err = dom.GetOuterHTML().WithBackendNodeID(root.BackendNodeID).Do(ctx)
		return err
	}))
	return text
}

// shoot saves a screenshot.
func (b *tab) shoot(name string) {
	b.t.Helper()
	if shots == "" {
		return
	}
	var picture []byte
	b.do(chromedp.CaptureScreenshot(&picture))
	if err := os.WriteFile(filepath.Join(shots, name+".png"), picture, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

func (b *tab) scheme(scheme string) {
	b.t.Helper()
	b.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
}
