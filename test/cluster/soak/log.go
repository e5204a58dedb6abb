package soak

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Message is a kind of error message in a log and the number of its occurrences.
type Message struct {
	Text  string `json:"text"`
	Count int    `json:"count"`
}

// LogErrors counts the errors in the logs of one process.
type LogErrors struct {
	total int
	kinds map[string]int
}

// maxKinds is the maximum number of kinds of error messages.
const maxKinds = 200

// errorLine matches klog's text format: severity, month and day, time, thread, location,
// message.
var errorLine = regexp.MustCompile(`^[EF]\d{4} \S+ +\d+ \S+\] (.*)$`)

// Read counts the errors in a log.
func (l *LogErrors) Read(r io.Reader) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if kind := kindOf(strings.TrimSpace(line)); kind != "" {
			l.add(kind)
		}
		switch err {
		case nil:
		case io.EOF:
			return nil
		default:
			return fmt.Errorf("reading a log: %w", err)
		}
	}
}

func (l *LogErrors) add(kind string) {
	if l.kinds == nil {
		l.kinds = map[string]int{}
	}
	l.total++
	if _, known := l.kinds[kind]; !known && len(l.kinds) >= maxKinds {
		kind = "others"
	}
	l.kinds[kind]++
}

// kindOf returns an error message without its varying parts; empty for other lines.
func kindOf(line string) string {
	if strings.HasPrefix(line, "evenkeel: ") || strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
		return line
	}
	found := errorLine.FindStringSubmatch(line)
	if found == nil {
		return ""
	}
	message := found[1]
	if strings.HasPrefix(message, `"`) {
		if end := strings.Index(message[1:], `"`); end >= 0 {
			return message[1 : 1+end]
		}
	}
	const longest = 120
	return message[:min(len(message), longest)]
}

// Total returns the number of errors.
func (l *LogErrors) Total() int { return l.total }

// Most returns the n most frequent messages.
func (l *LogErrors) Most(n int) []Message {
	var all []Message
	for _, text := range slices.Sorted(maps.Keys(l.kinds)) {
		all = append(all, Message{Text: text, Count: l.kinds[text]})
	}
	slices.SortStableFunc(all, func(a, b Message) int { return cmp.Compare(b.Count, a.Count) })
	return all[:min(n, len(all))]
}
