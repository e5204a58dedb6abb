package nodesync

import "context"

// Sync makes one pass, for a process that does not stay.
func (s *Syncer) Sync(ctx context.Context) error { return s.pass(ctx) }
