package sim

import (
	"context"
)

// unattended is the evicting client of a run: nothing pauses it, and nothing
// has to be stored.
type unattended struct{}

// Commit implements evictor.Evictions.
func (unattended) Commit(context.Context) error { return nil }

// Announced implements evictor.Evictions.
func (unattended) Announced(context.Context) {}

// Permits implements evictor.Evictions.
func (unattended) Permits(context.Context) error { return nil }

// Evicted implements evictor.Evictions: the watch is never behind.
func (unattended) Evicted(string) bool { return false }

// DryRun implements evictor.Evictions.
func (unattended) DryRun() bool { return false }
