package prometheus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// api queries one server. It limits the time, rate and size of queries.
type api struct {
	client   *http.Client
	base     *url.URL
	timeout  time.Duration
	limiter  *rate.Limiter
	maxBytes int64
	// getOnly is set once the server has refused a POST.
	getOnly atomic.Bool
}

// ask sends a form to an endpoint and visits the series of the result. If it returns an
// error, the caller must discard the visited series.
func (a *api) ask(ctx context.Context, endpoint string, form url.Values, visit func(*series)) ([]string, error) {
	if err := a.limiter.Wait(ctx); err != nil {
		return nil, fmt.Errorf("waiting for the rate limiter: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	form.Set("timeout", strconv.FormatInt(max(a.timeout.Milliseconds(), 1), 10)+"ms")
	response, err := a.send(ctx, endpoint, form)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, refusal(response)
	}
	want := vector
	if endpoint == rangeEndpoint {
		want = matrix
	}
	warnings, err := decode(http.MaxBytesReader(nil, response.Body, a.maxBytes), want, visit)
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, fmt.Errorf("the answer is too large: over %d bytes", tooLarge.Limit)
	}
	return warnings, err
}

// send sends a form by POST, because expressions may be longer than a URL. It uses GET
// for servers and proxies that refuse POST.
func (a *api) send(ctx context.Context, endpoint string, form url.Values) (*http.Response, error) {
	if !a.getOnly.Load() {
		response, err := a.do(ctx, http.MethodPost, endpoint, form)
		if err != nil || response.StatusCode != http.StatusMethodNotAllowed {
			return response, err
		}
		response.Body.Close()
		a.getOnly.Store(true)
	}
	return a.do(ctx, http.MethodGet, endpoint, form)
}

func (a *api) do(ctx context.Context, method, endpoint string, form url.Values) (*http.Response, error) {
	target := a.base.JoinPath(endpoint)
	var body io.Reader
	if method == http.MethodPost {
		body = strings.NewReader(form.Encode())
	} else {
		query := target.Query()
		maps.Copy(query, form)
		target.RawQuery = query.Encode()
	}
	request, err := http.NewRequestWithContext(ctx, method, target.String(), body)
	if err != nil {
		return nil, fmt.Errorf("making the request: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := a.client.Do(request)
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // the URL in the error would repeat the whole query
	}
	return response, err
}

// maxRefusalBytes bounds how much of an error answer is read.
const maxRefusalBytes = 16 << 10

// refusal returns the server's error, with its message if that is safe to show.
func refusal(response *http.Response) error {
	text := "the server answered " + strconv.Itoa(response.StatusCode) + " " + http.StatusText(response.StatusCode)
	if to := response.Header.Get("Location"); to != "" && response.StatusCode/100 == 3 {
		if target, err := url.Parse(to); err == nil {
			text += ", pointing to " + strconv.Quote(shown(target.Scheme+"://"+target.Host)) + "; redirections are not followed"
		}
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxRefusalBytes))
	why := reason(response.Header.Get("Content-Type"), body)
	if err != nil || why == "" || reveals(response.Request, string(body)) {
		return errors.New(text)
	}
	return errors.New(text + ": " + why)
}

// reason finds the message in the body of a refusal: the API's own, or plain
// text from a proxy.
func reason(contentType string, body []byte) string {
	var answer struct {
		ErrorType string `json:"errorType"`
		Error     string `json:"error"`
	}
	if json.Unmarshal(body, &answer) == nil {
		return shown(strings.Trim(answer.ErrorType+": "+answer.Error, ": "))
	}
	if kind, _, err := mime.ParseMediaType(contentType); err != nil || kind != "text/plain" {
		return ""
	}
	line, _, _ := bytes.Cut(bytes.TrimSpace(body), []byte("\n"))
	return shown(string(line))
}

// reveals reports whether a text repeats the request's credential.
func reveals(request *http.Request, text string) bool {
	if request == nil {
		return false
	}
	words := strings.Fields(request.Header.Get("Authorization"))
	return len(words) > 0 && strings.Contains(text, words[len(words)-1])
}

const (
	instantEndpoint = "api/v1/query"
	rangeEndpoint   = "api/v1/query_range"
)
