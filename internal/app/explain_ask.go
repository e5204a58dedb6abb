package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/explain"
)

// subject is what is to be explained.
type subject struct{ kind, namespace, name string }

const (
	kindNode = "node"
	kindPod  = "pod"
)

// errSubject says what can be asked about.
var errSubject = errors.New("explain takes `node NAME` or `pod NAMESPACE/NAME`")

// parseSubject reads the words of the command line.
func parseSubject(words []string) (subject, error) {
	if len(words) != 2 {
		return subject{}, fmt.Errorf("%w, got %d words", errSubject, len(words))
	}
	kind, name := words[0], words[1]
	switch namespace, pod, slash := strings.Cut(name, "/"); {
	case kind == kindNode && name != "" && !slash:
		return subject{kind: kindNode, name: name}, nil
	case kind == kindPod && namespace != "" && pod != "" && !strings.Contains(pod, "/"):
		return subject{kind: kindPod, namespace: namespace, name: pod}, nil
	}
	return subject{}, fmt.Errorf("%w, got %.80q %.80q", errSubject, kind, name)
}

// subjectOfPath reads the path of a request.
func subjectOfPath(path string) (subject, error) {
	kind, name, _ := strings.Cut(strings.TrimPrefix(path, "/explain/"), "/")
	s, err := parseSubject([]string{kind, name})
	if err != nil {
		return subject{}, fmt.Errorf("no such path: %.80q; ask for /explain/node/NAME or /explain/pod/NAMESPACE/NAME", path)
	}
	return s, nil
}

// explain says what there is to say.
func (s subject) explain(f *explain.Facts) (explanation, error) {
	if s.kind == kindNode {
		n, err := explain.OfNode(f, s.name)
		return &n, err
	}
	p, err := explain.OfPod(f, s.namespace, s.name)
	return &p, err
}

// maxExplanationBytes bounds an explanation that another process gives: of 5000 nodes it is about one MiB.
const maxExplanationBytes = 32 << 20

// askToExplain has a running process explain.
func askToExplain(ctx context.Context, base string, s subject) (explanation, error) {
	address, err := url.Parse(base)
	if err != nil || address.Scheme != "http" && address.Scheme != "https" || address.Host == "" {
		return nil, exit.Usagef("--extender-url: it is not a URL that begins with http:// or https:// and names a host")
	}
	ctx, cancel := context.WithTimeout(ctx, 2*explainTimeout)
	defer cancel()
	path := []string{"explain", s.kind, url.PathEscape(s.name)}
	if s.kind == kindPod {
		path = []string{"explain", s.kind, url.PathEscape(s.namespace), url.PathEscape(s.name)}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.JoinPath(path...).String(), nil)
	if err != nil {
		return nil, errors.New("asking for an explanation: the address is not a URL")
	}
	response, err := http.DefaultClient.Do(request)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // it would repeat the address
	}
	if err != nil {
		return nil, fmt.Errorf("asking %s for an explanation: %w", address.Redacted(), err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, refusedToExplain(response)
	}
	return s.decode(io.LimitReader(response.Body, maxExplanationBytes))
}

// refusedToExplain says why no explanation came: the first bytes of the answer say it in one line.
func refusedToExplain(response *http.Response) error {
	why, _ := io.ReadAll(io.LimitReader(response.Body, 400))
	return fmt.Errorf("asking for an explanation: %s: %s", response.Status, strings.Join(strings.Fields(string(why)), " "))
}

func (s subject) decode(from io.Reader) (told explanation, err error) {
	told = &explain.Pod{}
	if s.kind == kindNode {
		told = &explain.Node{}
	}
	if err := json.NewDecoder(from).Decode(told); err != nil {
		return nil, fmt.Errorf("reading the explanation: %w", err)
	}
	return told, nil
}
