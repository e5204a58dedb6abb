package page

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/internal/terminal/layout"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/status"
	"github.com/evenkeel/evenkeel/status/text"
)

//go:embed assets
var assets embed.FS

// Style, Script and Icon are the paths of the files that the page loads.
const (
	Style  = "/page/page.css"
	Script = "/page/page.js"
	Icon   = "/page/icon.svg"
)

// Policy is the Content-Security-Policy of the page. It allows only the page's own files
// and nothing inline.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// Asset returns the content of the file at one of these paths; nil for any other path.
func Asset(path string) []byte {
	if path != Style && path != Script && path != Icon {
		return nil
	}
	content, err := assets.ReadFile("assets/" + strings.TrimPrefix(path, "/page/"))
	if err != nil { // impossible: all files are embedded
		return nil
	}
	return content
}

var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"percent": percent, "target": target, "ago": ago, "names": reasons.Names, "short": short, "after": after,
}).ParseFS(assets, "assets/*.html"))

// perPage is the number of nodes per page of the table.
const perPage = 50

// Query selects the part of the page to render.
type Query struct {
	// Brief leaves out the map and the tables, which the script requests later. The most
	// important content then appears at once.
	Brief bool
	// Page is the number of the page in the table of nodes, starting at 1. Find is a
	// substring of the names to list.
	Page int
	Find string
}

// listing is a part of the table of nodes, the hottest first.
type listing struct {
	Rows                 []*Node
	Find                 string
	Page, Pages          int
	First, Last, Matches int
}

func (p *Page) list(query Query) listing {
	all := p.hottest
	query.Find = strings.ToLower(strings.TrimSpace(query.Find))
	if query.Find != "" {
		all = slices.DeleteFunc(slices.Clone(all), func(n *Node) bool { return !strings.Contains(n.Name, query.Find) })
	}
	l := listing{Find: query.Find, Pages: max((len(all)+perPage-1)/perPage, 1), Matches: len(all)}
	l.Page = min(max(query.Page, 1), l.Pages)
	first := (l.Page - 1) * perPage
	l.Rows = all[first:min(first+perPage, len(all))]
	l.First, l.Last = min(first+1, len(all)), first+len(l.Rows)
	return l
}

// To returns the link to another page of the same listing.
func (l listing) To(page int) string {
	query := url.Values{"page": {fmt.Sprint(page)}}
	if l.Find != "" {
		query.Set("find", l.Find)
	}
	return "/?" + query.Encode() + "#nodes"
}

// Previous returns the link to the previous page; empty on the first page.
func (l listing) Previous() string {
	if l.Page == 1 {
		return ""
	}
	return l.To(l.Page - 1)
}

// Next returns the link to the next page; empty on the last page.
func (l listing) Next() string {
	if l.Page == l.Pages {
		return ""
	}
	return l.To(l.Page + 1)
}

// Render writes the page as HTML.
func (p *Page) Render(out io.Writer, query Query) error {
	view := struct {
		*Page
		Now   time.Time
		Brief bool
		Map   *heatMap
		Line  *moveLine
		List  listing
		// Few holds the newest moves, and Owners the first groups of declined pods.
		Few    []status.RecordedMove
		Owners []status.DeclinedGroup
	}{Page: p, Now: p.now.UTC(), Brief: query.Brief}
	if !query.Brief {
		view.Map, view.Line, view.List = drawMap(p), drawMoves(p), p.list(query)
		view.Few, view.Owners = p.Moves[:min(len(p.Moves), drawn)], p.Declined[:min(len(p.Declined), perPage)]
	}
	return execute(out, "page.html", view)
}

func execute(out io.Writer, name string, values any) error {
	if err := templates.ExecuteTemplate(out, name, values); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// Explained is the explanation of a node or a pod, as a page.
type Explained struct {
	Title string
	// Summary is a sentence, and Table holds the numbers.
	Summary, Table string
	// Problem is why the explanation failed.
	Problem string
	// Pods lists the pods of a node that use most. More counts the others.
	Pods []PodUse
	More int
}

// PodUse is the usage of a pod.
type PodUse struct {
	Namespace, Name, Uses string
	cpu                   int64
}

// Explain converts an explanation to a page. view may be nil.
func Explain(title string, e status.Explanation, view *usage.View) *Explained {
	var table layout.Page
	text.Explanation(&table, e)
	summary, rest, _ := strings.Cut(table.String(), "\n")
	x := &Explained{Title: title, Summary: summary, Table: strings.TrimLeft(rest, "\n")}
	if n, ok := e.(*status.NodeExplanation); ok && view != nil {
		x.addPods(view, n.Name)
	}
	return x
}

// addPods adds the pods of a node, those that use most first.
func (x *Explained) addPods(view *usage.View, node string) {
	const most = 30
	i := view.Snapshot.Index(node)
	if i < 0 {
		return
	}
	for k, pod := range view.Snapshot.Nodes[i].Pods {
		used := view.Nodes[i].Pods[k].Used
		x.Pods = append(x.Pods, PodUse{Namespace: pod.Namespace, Name: pod.Name, Uses: used.InWords(), cpu: used[0]})
	}
	slices.SortStableFunc(x.Pods, func(a, b PodUse) int { return cmp.Compare(b.cpu, a.cpu) })
	x.More = max(len(x.Pods)-most, 0)
	x.Pods = x.Pods[:min(len(x.Pods), most)]
}

// Render writes the explanation as HTML.
func (x *Explained) Render(out io.Writer) error { return execute(out, "explain.html", x) }

// ago returns the time since a moment in words.
func ago(now time.Time, at *time.Time) string {
	if at == nil {
		return "-"
	}
	past := max(now.Sub(*at), 0)
	if past < 2*time.Minute {
		return fmt.Sprintf("%d s ago", past/time.Second)
	}
	return fmt.Sprintf("%d min ago", past/time.Minute)
}

// short removes the unique suffix of an identity.
func short(identity string) string {
	name, _, _ := strings.Cut(identity, "_")
	return name
}

// after removes the name at the start of a sentence.
func after(name, sentence string) string { return strings.TrimPrefix(sentence, name) }
