// Package policy holds everything that a user can configure: what to run (the
// DeschedulerPolicy, which upstream's plugins also use) and how to judge real usage (the
// LoadPolicy, which the evicting half and the scheduling half share).
//
// It decides whether a policy is valid and what it means. Other packages read files,
// build plugins and act on the values.
//
// Invariants:
//   - Load accepts only what it fully understands: an unknown field, a key set
//     twice, a wrong type or a value out of range is an error that names the
//     place, never a silent default.
//   - A LoadPolicy that Load returned is complete and passes Validate, so its
//     readers need not check it again: cpu and memory have all levels, a pool
//     has every line that applies to its nodes, a source the block of its type.
//   - The package is pure: same bytes in, same values out.
package policy
