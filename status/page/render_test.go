package page

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/status"
)

func rendered(t testing.TB, f *Facts, query Query) string {
	t.Helper()
	var out bytes.Buffer
	render(t, New(f), &out, query)
	return out.String()
}

func render(t testing.TB, p *Page, out io.Writer, query Query) {
	t.Helper()
	if err := p.Render(out, query); err != nil {
		t.Fatal(err)
	}
}

// inline matches what the Content-Security-Policy forbids: scripts and styles that are not in
// files, and handlers. Data for the script is allowed.
var inline = regexp.MustCompile(`<style|\sstyle=|\son[a-z]+=|javascript:|<script(?: type="text/javascript")?>|https?://`)

// Nothing is inline and nothing is loaded from elsewhere. A hostile name stays text.
func TestNothingInline(t *testing.T) {
	y := newYard(t)
	const name = `"><script>alert(1)</script>`
	y.node(name, thresholds.Hot, 9000, 9000)
	y.pod("shop", `</script><img src=x onerror=alert(1)>`, "web", 10)
	f := y.facts()
	m := move(`<b onclick="x">`, ledger.Booked, name, time.Minute)
	m.From = name
	f.InFlight, f.Paused = []ledger.Move{m}, "paused by <script>alert(2)</script>"
	f.Sources[0].Error = "<script>alert(3)</script>"
	page := rendered(t, f, Query{Find: `"onfocus="alert(4)`})
	for _, text := range []string{"<script>alert", "<img src=x", `<b onclick`, `"onfocus="`} {
		if strings.Contains(page, text) {
			t.Errorf("the page has %q", text)
		}
	}
	for _, f := range []*Facts{burning(t).facts(), fleet(t, 100)} {
		if found := inline.FindAllString(rendered(t, f, Query{}), -1); len(found) > 0 {
			t.Errorf("the page has %q", found)
		}
	}
}

// Problems are shown above the map, on the first screen.
func TestProblemsComeFirst(t *testing.T) {
	f := burning(t).facts()
	if got := New(f).Problems(); len(got) > 0 {
		t.Errorf("problems %q, want none", got)
	}
	f.Sources = append(f.Sources, Source{Source: status.Source{Name: "kubelets", Error: "no route to host"}})
	f.Process.PolicyProblem = "policy.yaml: line 3"
	want := []string{"kubelets could not be read: no route to host", "the changed policy is not in effect: policy.yaml: line 3"}
	if diff := cmp.Diff(want, New(f).Problems()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	first, _, _ := strings.Cut(rendered(t, f, Query{}), `id="map"`)
	for _, text := range want {
		if !strings.Contains(first, "<li>"+text+"</li>") {
			t.Errorf("%q is not above the map", text)
		}
	}
}

// Without a script, the page contains all nodes of the JSON, page by page, each as a link and the
// hottest first.
func TestPagesOfNodes(t *testing.T) {
	f := fleet(t, 120)
	row := regexp.MustCompile(`<tr><td><a href="/explain/node/([^"]+)">`)
	seen, first := map[string]bool{}, ""
	for page, want := range []int{50, 50, 20, 20} { // beyond the end, the last page is shown
		text := rendered(t, f, Query{Page: page + 1})
		table := text[strings.Index(text, `id="nodes"`):]
		rows := row.FindAllStringSubmatch(table, -1)
		if len(rows) != want {
			t.Errorf("page %d has %d rows, want %d", page+1, len(rows), want)
		}
		for _, r := range rows {
			if first == "" {
				first = r[1]
			}
			seen[r[1]] = true
		}
		previous, next := strings.Contains(table, `rel="prev"`), strings.Contains(table, `rel="next"`)
		if previous != (page > 0) || next != (page < 2) {
			t.Errorf("page %d links to one before: %v, after: %v", page+1, previous, next)
		}
	}
	if len(seen) != 120 || first != New(f).Headline.Node {
		t.Errorf("%d nodes are listed, %s first; the hottest is %s", len(seen), first, New(f).Headline.Node)
	}
	found := rendered(t, f, Query{Find: " -001-00\t", Page: 7}) // as a user might paste it
	table := found[strings.Index(found, `id="nodes"`):]
	if rows := row.FindAllString(table, -1); len(rows) != 10 || !strings.Contains(table, `value="-001-00"`) {
		t.Errorf("%d nodes are found, want 10", len(rows))
	}
}

// The map has a cell for each node, at the position where the script expects it.
func TestMap(t *testing.T) {
	p := New(fleet(t, 120))
	m := drawMap(p)
	var cells [][3]string
	if err := json.Unmarshal([]byte(m.Cells), &cells); err != nil {
		t.Fatal(err)
	}
	at := map[string]string{}
	for _, path := range m.Paths {
		for _, cell := range regexp.MustCompile(`M(\d+ \d+)h9v9h-9z`).FindAllStringSubmatch(path.D, -1) {
			at[cell[1]] = path.Class
		}
	}
	if len(cells) != 120 || len(at) != 120 {
		t.Fatalf("%d nodes, %d cells; want 120", len(cells), len(at))
	}
	for i := range p.Nodes {
		place := fmt.Sprintf("%d %d", i%m.Columns*pitch, i/m.Columns*pitch)
		if n := &p.Nodes[i]; at[place] != n.Level.Class() || cells[i] != [3]string{n.Name, n.LevelText(), n.Uses()} {
			t.Errorf("node %d %s (%s) is drawn as %q and told as %q", i, n.Name, n.Level, at[place], cells[i])
		}
	}
	if m.First.Name != p.Headline.Node {
		t.Errorf("%s is chosen, the hottest is %s", m.First.Name, p.Headline.Node)
	}
}

// An explanation is shown in words, with its pods as links.
func TestExplain(t *testing.T) {
	y := burning(t)
	f := y.facts()
	n, err := status.OfNode(&f.Facts, "node-b")
	if err != nil {
		t.Fatal(err)
	}
	x := Explain("node node-b", &n, y.view)
	var out bytes.Buffer
	if err := x.Render(&out); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	if x.Summary != n.Summary || strings.Contains(x.Table, n.Summary) || !strings.Contains(x.Table, "limit after placement") {
		t.Errorf("summary %q, table:\n%s", x.Summary, x.Table)
	}
	first, second := strings.Index(page, `href="/explain/pod/shop/web-2"`), strings.Index(page, `href="/explain/pod/shop/web-1"`)
	if first < 0 || second < first {
		t.Errorf("the fullest pod does not come first:\n%s", page)
	}
	if found := inline.FindAllString(page, -1); len(found) > 0 {
		t.Errorf("the page has %q", found)
	}
}

// The files, and the page for 5,000 nodes, are small when compressed.
func TestSizes(t *testing.T) {
	const assetsAtMost, dataAtMost = 60 << 10, 200 << 10
	var files []byte
	for _, path := range []string{Style, Script, Icon} {
		content := Asset(path)
		if len(content) == 0 {
			t.Errorf("%s is missing", path)
		}
		files = append(files, content...)
	}
	if Asset("/page/page.html") != nil || Asset("/etc/passwd") != nil {
		t.Error("more than the page's files is served")
	}
	p := New(fleet(t, 5000))
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var html bytes.Buffer
	render(t, p, &html, Query{})
	for name, tc := range map[string]struct {
		content []byte
		most    int
	}{
		"the files": {files, assetsAtMost}, "5,000 nodes as JSON": {data, dataAtMost}, "5,000 nodes as HTML": {html.Bytes(), dataAtMost},
	} {
		size := compressed(t, tc.content)
		t.Logf("%s: %d bytes, %d compressed", name, len(tc.content), size)
		if size > tc.most {
			t.Errorf("%s: %d bytes compressed, at most %d", name, size, tc.most)
		}
	}
}

func compressed(t *testing.T, content []byte) int {
	t.Helper()
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestSpeed) // compressed as in a response
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Len()
}

func BenchmarkPage(b *testing.B) {
	for _, nodes := range []int{100, 1000, 5000} {
		f := fleet(b, nodes)
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			for b.Loop() {
				render(b, New(f), io.Discard, Query{})
			}
		})
	}
}

// An owner with pods on many nodes must not slow down the page: comparing each pod with all others
// would take minutes.
func BenchmarkDeclinedOnManyNodes(b *testing.B) {
	f := manyDeclined(b, 60_000)
	for b.Loop() {
		f.Cycle.Declined()
	}
}
