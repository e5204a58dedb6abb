package history

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// line is a log line about an eviction.
type line struct {
	Entry

	Said   string `json:"msg"`
	PodRef ref    `json:"pod"`
}

// ref is a namespace and name: one string in the text format, an object in
// JSON.
type ref struct{ namespace, name string }

// UnmarshalJSON implements json.Unmarshaler.
func (r *ref) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		r.namespace, r.name, _ = strings.Cut(text, "/")
		return nil
	}
	var object struct{ Namespace, Name string }
	err := json.Unmarshal(data, &object)
	r.namespace, r.name = object.Namespace, object.Name
	return err
}

// parse reads a log line in klog's text format or as JSON, with or without the prefix
// that a container runtime or kubectl adds. It returns false for any other line.
func parse(text []byte) (l line, ok bool) {
	fields := fieldsOf(text)
	if fields == nil {
		return line{}, false
	}
	data, err := json.Marshal(fields)
	if err != nil || json.Unmarshal(data, &l) != nil || l.PodUID == "" || l.At.IsZero() {
		return line{}, false
	}
	e := &l.Entry
	e.Namespace, e.Pod = l.PodRef.namespace, l.PodRef.name
	if e.CPUMilli != nil && e.MemoryBytes != nil && *e.CPUMilli == 0 && *e.MemoryBytes == 0 { // an earlier version's unknown
		e.CPUMilli, e.MemoryBytes = nil, nil
	}
	e.DryRun = l.Said == wouldEvict || l.Said == trialJudged
	if l.Said == evicted || l.Said == wouldEvict {
		return l, fields["message"] != nil // the last field, so that the line is complete
	}
	e.Outcome = Outcome{}
	for _, question := range []string{planned, sourceCooler, destinationUnder, healthy, sourceStillHot, destinationTakes, podStayed} {
		if answer := string(fields[question]); answer == "true" || answer == "false" {
			e.Outcome[question] = answer == "true"
		}
	}
	if !e.DryRun {
		e.Landed = e.Destination
	}
	return l, true
}

// fieldsOf returns the keys and values of a line with one of the messages, and
// the message under "msg"; nil for any other line.
func fieldsOf(text []byte) map[string]json.RawMessage {
	for _, message := range []string{evicted, wouldEvict, moveJudged, trialJudged} {
		quoted := strconv.Quote(message)
		at := bytes.Index(text, []byte(quoted))
		switch {
		case at < 0:
		case bytes.IndexByte(text[:at], '\t') >= 0: // part of a value of several lines, which klog indents
		case bytes.HasSuffix(text[:at], []byte("] ")):
			fields := keysAndValues(string(text[at+len(quoted):]))
			fields["msg"] = json.RawMessage(quoted)
			return fields
		default:
			return object(text, quoted)
		}
	}
	return nil
}

// object returns the fields of a JSON line; nil if its message is a different
// one.
func object(text []byte, message string) (fields map[string]json.RawMessage) {
	start := bytes.IndexByte(text, '{')
	if start < 0 || json.NewDecoder(bytes.NewReader(text[start:])).Decode(&fields) != nil || string(fields["msg"]) != message {
		return nil
	}
	return fields
}

// keysAndValues reads key=value pairs as klog writes them: strings quoted as in
// Go, everything else as JSON. It stops at anything else.
func keysAndValues(text string) map[string]json.RawMessage {
	fields := map[string]json.RawMessage{}
	for {
		key, rest, ok := strings.Cut(strings.TrimLeft(text, " "), "=")
		if !ok || strings.ContainsAny(key, " \"") {
			return fields
		}
		value, length := valueOf(rest)
		if value == nil {
			return fields
		}
		fields[key], text = value, rest[length:]
	}
}

// valueOf returns the value at the start of a text as JSON, and its length in
// the text; nil if there is none.
func valueOf(text string) (value json.RawMessage, length int) {
	if quoted, err := strconv.QuotedPrefix(text); err == nil {
		unquoted, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, 0
		}
		value, err := json.Marshal(unquoted)
		if err != nil {
			return nil, 0
		}
		return value, len(quoted)
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	if decoder.Decode(&value) != nil {
		return nil, 0
	}
	return slices.Clone(value), int(decoder.InputOffset())
}
