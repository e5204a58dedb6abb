package app

import (
	"time"

	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/internal/servertime"
)

// useClock makes all that is decided happen by the API server's clock, and what only waits by the local one.
func (a *App) useClock() error {
	local, err := servertime.LocalClock(time.Now)
	if err != nil {
		return err
	}
	a.clock = servertime.New(local)
	a.clock.Export(a.registry)
	a.now = a.clock.Now
	a.started, a.begun = a.now(), local()
	return nil
}

// setsClock lets a client's answers set the clock. Only clients of the API server itself do: kubelets and aggregated APIs
// answer with the time of clocks of their own, through the API server too.
func (a *App) setsClock(config *rest.Config) {
	if a.clock != nil {
		config.Wrap(a.clock.Wrap)
	}
}
