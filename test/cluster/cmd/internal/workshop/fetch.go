package workshop

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

const (
	// fetchWithin bounds a request for a page. It is generous, because the machine is busy.
	fetchWithin = 10 * time.Second
	// maxPage is the maximum size of a page, in bytes.
	maxPage = 64 << 20
)

// Fetch reads a page from a process, such as its metrics.
func Fetch(ctx context.Context, client *http.Client, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", fmt.Errorf("fetching %s: %w", url, err)
	}
	// Compression would cost the measured process processor time.
	request.Header.Set("Accept-Encoding", "identity")
	response, err := client.Do(request)
	if err != nil {
		return "", fmt.Errorf("fetching %s: %w", url, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxPage))
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d", response.StatusCode)
	}
	if err != nil {
		return "", fmt.Errorf("fetching %s: %w", url, err)
	}
	return string(text), nil
}
