package servertime

import "time"

// Local returns the time of the local clock. Tests of processes with different clocks
// build the program with another file in place of this one.
func Local() time.Time { return time.Now() }
