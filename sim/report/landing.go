package report

import (
	"fmt"
	"strings"

	"github.com/evenkeel/evenkeel/sim"
)

// landing shows where a variant's replacements landed, as a bar with parts.
type landing struct {
	style

	Parts []part
	Facts string
}

type part struct {
	// Class is the CSS class in page.css.
	Class  string
	X      px
	Width  px
	Title  string
	Label  string
	LabelX px
}

const landingWidth = 700

func landings(results []sim.Result, looks []style) (made []landing) {
	for i := range results {
		r := &results[i]
		if r.Evictions <= 0 || r.Variant == Bound {
			continue
		}
		l := landing{style: looks[i]}
		var facts []string
		x := px(0)
		for _, p := range []struct {
			class, name string
			count       int
		}{
			{"planned", "on the planned node", r.OnPlan},
			{"elsewhere", "on another than the planned node", r.Planned - r.OnPlan},
			{"unplanned", "wherever kube-scheduler put them, without a plan", r.Landed - r.Planned},
			{"pending", "nowhere at first", r.Pending},
		} {
			if p.count <= 0 {
				continue
			}
			percent := 100 * float64(p.count) / float64(r.Evictions)
			title := fmt.Sprintf("%d (%s%%) landed %s", p.count, share(percent), p.name)
			facts = append(facts, title)
			one := part{Class: p.class, X: x, Width: px(percent / 100 * landingWidth), Title: title}
			if one.LabelX = x + one.Width/2; one.Width > 44 {
				one.Label = share(percent) + "%"
			}
			l.Parts = append(l.Parts, one)
			x += one.Width
		}
		l.Facts = strings.Join(facts, "; ")
		made = append(made, l)
	}
	return made
}
