package stage

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster"
)

// Eviction is an eviction that the API server has granted.
type Eviction struct {
	Namespace, Pod string
	// Program is the name under which the requesting process was started; see StartAs.
	Program string
	// At is when the API server received the request, by its own clock.
	At time.Time
}

// PodRequests lists the requests about pods in namespace shop since the mark, one per
// line, for a failed case to print.
func (f *Fixture) PodRequests(since cluster.AuditMark) (lines []string) {
	content, err := os.ReadFile(filepath.Join(f.StateDir(), "audit.log"))
	if err != nil || int(since) > len(content) {
		return []string{fmt.Sprintf("no audit log: %v", err)}
	}
	for line := range strings.Lines(string(content[since:])) {
		var event evictionEvent
		if json.Unmarshal([]byte(line), &event) != nil || event.ObjectRef.Namespace != "shop" || event.ObjectRef.Resource != "pods" {
			continue
		}
		if slices.Contains([]string{"create", "delete", "deletecollection"}, event.Verb) {
			program, _, _ := strings.Cut(event.UserAgent, "/")
			lines = append(lines, fmt.Sprintf("%s %s %s %s %s: %d", event.Received.Format("15:04:05.000"), program, event.Verb,
				event.ObjectRef.Subresource, event.ObjectRef.Name, event.ResponseStatus.Code))
		}
	}
	return lines
}

// evictionEvent is the part of an audit event that Eviction needs.
type evictionEvent struct {
	Stage      string    `json:"stage"`
	RequestURI string    `json:"requestURI"`
	Verb       string    `json:"verb"`
	UserAgent  string    `json:"userAgent"`
	Received   time.Time `json:"requestReceivedTimestamp"`
	ObjectRef  struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

func (e *evictionEvent) granted() bool {
	return e.Stage == "ResponseComplete" && e.Verb == "create" && e.ResponseStatus.Code == http.StatusCreated &&
		e.ObjectRef.Resource == "pods" && e.ObjectRef.Subresource == "eviction" && !strings.Contains(e.RequestURI, "dryRun=All")
}

// Granted lists the evictions that the API server has granted since the mark,
// in the order of its answers.
func (f *Fixture) Granted(since cluster.AuditMark) []Eviction {
	f.T.Helper()
	log, err := os.Open(filepath.Join(f.StateDir(), "audit.log"))
	if err != nil {
		f.T.Fatal(err)
	}
	defer log.Close()
	if _, err := log.Seek(int64(since), io.SeekStart); err != nil {
		f.T.Fatal(err)
	}
	evictions, err := readEvictions(log)
	if err != nil {
		f.T.Fatalf("reading the audit log: %v", err)
	}
	return evictions
}

func readEvictions(log io.Reader) ([]Eviction, error) {
	var evictions []Eviction
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // the text after the last line break is an incomplete line
			return evictions, nil
		}
		if err != nil {
			return nil, err
		}
		var event evictionEvent
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, err
		}
		if event.granted() {
			program, _, _ := strings.Cut(event.UserAgent, "/")
			evictions = append(evictions, Eviction{
				Namespace: event.ObjectRef.Namespace, Pod: event.ObjectRef.Name, Program: program, At: event.Received,
			})
		}
	}
}
