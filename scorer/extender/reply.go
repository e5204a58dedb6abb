package extender

import (
	"encoding/json"
	"slices"
)

// maxScore is the best score on the wire (extenderv1.MaxExtenderPriority).
const maxScore = 10

// filterReply holds the parts of a filter reply.
type filterReply struct {
	req     *request
	reasons []Reject
	// listed is the number of rejected nodes that are listed with their reason. Omitted
	// nodes still count as failed and unresolvable; only their messages are missing if
	// the pod stays unscheduled.
	listed int
	// loadMessage is RejectLoad's message, escaped for JSON.
	loadMessage string
}

// noNamesReply is an ExtenderFilterResult that reports an error in the request.
const noNamesReply = `{"Error":"the request has no NodeNames; set nodeCacheCapable for this extender"}` + "\n"

// appendTo writes an ExtenderFilterResult. kube-scheduler reads a missing, null
// or empty list as "no node".
func (f filterReply) appendTo(dst []byte) []byte {
	if len(f.req.nodes) > 0 {
		dst = slices.Grow(dst, len(f.req.body))
		dst = append(dst, `{"Nodes":{"items":[`...)
		dst = f.appendKept(dst, func(i int) span { return f.req.nodes[i] })
		dst = append(dst, `]}`...)
	} else {
		dst = append(dst, `{"NodeNames":[`...)
		dst = f.appendKept(dst, func(i int) span { return f.req.names[i].span })
		dst = append(dst, ']')
	}
	dst = f.appendRejected(dst)
	return append(dst, "}\n"...)
}

// appendKept copies the kept elements. It copies adjacent elements together with the
// bytes between them, so a single copy is enough if nothing is rejected.
func (f filterReply) appendKept(dst []byte, at func(i int) span) []byte {
	first := len(dst)
	for i := 0; i < len(f.reasons); i++ {
		if f.reasons[i] != RejectNone {
			continue
		}
		from := i
		for i+1 < len(f.reasons) && f.reasons[i+1] == RejectNone {
			i++
		}
		if len(dst) > first {
			dst = append(dst, ',')
		}
		dst = append(dst, f.req.body[at(from).start:at(i).end]...)
	}
	return dst
}

func (f filterReply) appendRejected(dst []byte) []byte {
	left := f.listed
	for i, reason := range f.reasons {
		if reason == RejectNone {
			continue
		}
		if left == 0 {
			break
		}
		if left == f.listed {
			dst = append(dst, `,"FailedAndUnresolvableNodes":{`...)
		} else {
			dst = append(dst, ',')
		}
		left--
		dst = f.req.appendName(dst, i)
		dst = append(dst, `:"`...)
		dst = append(dst, f.message(reason)...)
		dst = append(dst, '"')
	}
	if left < f.listed {
		dst = append(dst, '}')
	}
	return dst
}

func (f filterReply) message(reason Reject) string {
	if reason == RejectLoad {
		return f.loadMessage
	}
	return reason.Message()
}

// inJSON returns a text escaped for JSON, without the quotes.
func inJSON(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil { // cannot happen: any text can be encoded
		return ""
	}
	return string(quoted[1 : len(quoted)-1])
}

// appendName writes the name of node i, quoted as in the request.
func (r *request) appendName(dst []byte, i int) []byte {
	name := r.names[i]
	if name.end == 0 {
		return append(dst, `""`...)
	}
	return append(dst, r.body[name.start:name.end]...)
}

// scoreTexts holds, by score, the end of an element of a HostPriorityList, including the
// comma before the next element.
var scoreTexts = [maxScore + 1]string{
	`,"Score":0},`, `,"Score":1},`, `,"Score":2},`, `,"Score":3},`, `,"Score":4},`, `,"Score":5},`,
	`,"Score":6},`, `,"Score":7},`, `,"Score":8},`, `,"Score":9},`, `,"Score":10},`,
}

// prioritizeReply holds the parts of a prioritize reply.
type prioritizeReply struct {
	req    *request
	scores []int8
	// full includes every node, with the score that the Answerer gave it.
	full bool
}

// appendTo writes a HostPriorityList. kube-scheduler adds the scores to those
// of its plugins, so only their differences matter: unless full, the request's
// lowest score is subtracted from all, and nodes that then have 0 are left out.
// Equal scores give an empty list, so that kube-scheduler orders the nodes as
// if there were no extender.
func (p prioritizeReply) appendTo(dst []byte) []byte {
	base := int8(0)
	if !p.full {
		base = lowest(p.scores)
	}
	dst = append(dst, '[')
	first := len(dst)
	for i, score := range p.scores {
		points := clampScore(score) - base
		if points == 0 && !p.full {
			continue
		}
		dst = append(dst, `{"Host":`...)
		dst = p.req.appendName(dst, i)
		dst = append(dst, scoreTexts[points]...)
	}
	if len(dst) > first {
		dst = dst[:len(dst)-1] // the last comma
	}
	return append(dst, "]\n"...)
}

func lowest(scores []int8) int8 {
	low := int8(maxScore)
	for _, score := range scores {
		low = min(low, clampScore(score))
	}
	return low
}

// clampScore limits a score to the protocol's range.
func clampScore(score int8) int8 { return max(0, min(score, maxScore)) }
