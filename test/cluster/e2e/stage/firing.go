package stage

import (
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster/monitoring"
)

// recordFor is how long the metrics of processes are recorded. It covers several cycles
// and samples.
const recordFor = 12 * time.Second

// Firing fails the case unless exactly the given shipped alerts would fire if the
// processes at the given metrics addresses continued for hours as they do now. Without
// promtool, it checks nothing, and the case only tests what came before.
func (f *Fixture) Firing(when string, want []string, addresses ...string) {
	f.T.Helper()
	f.firing(recordFor, when, [][]string{want}, addresses...)
}

// FiringOver is like Firing, for states that come and go. It records metrics for the
// given duration.
func (f *Fixture) FiringOver(lasting time.Duration, when string, want []string, addresses ...string) {
	f.T.Helper()
	f.firing(lasting, when, [][]string{want}, addresses...)
}

// FiringBeside is like Firing, but allows another alert to fire as well, which depends on
// how fast the machine is.
func (f *Fixture) FiringBeside(when, another string, want []string, addresses ...string) {
	f.T.Helper()
	f.firing(recordFor, when, [][]string{want, append(slices.Clone(want), another)}, addresses...)
}

// firing fails the case unless exactly the alerts of one of the lists fire.
func (f *Fixture) firing(lasting time.Duration, when string, lists [][]string, addresses ...string) {
	f.T.Helper()
	if !monitoring.Installed() {
		f.T.Logf("no promtool on the PATH: alerts are not evaluated while %s", when)
		return
	}
	recordings, errs := make([]monitoring.Recording, len(addresses)), make([]error, len(addresses))
	var recording sync.WaitGroup
	for i, address := range addresses {
		recording.Go(func() { recordings[i], errs[i] = monitoring.Record(f.T.Context(), address, lasting) })
	}
	recording.Wait()
	for _, err := range errs {
		if err != nil {
			f.T.Fatal(err)
		}
	}
	errs = errs[:0]
	for _, want := range lists {
		err := monitoring.CheckFiring(f.T.Context(), f.T.TempDir(), want, recordings...)
		if err == nil {
			return
		}
		errs = append(errs, err)
	}
	f.T.Errorf("while %s: %v", when, errors.Join(errs...))
}
