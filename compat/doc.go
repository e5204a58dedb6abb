// Package compat is the only part of Evenkeel that knows the files of legacy systems. It
// converts their text into the current format, and lets the policy's loader read them
// directly. It determines which documents of a file are converted, which comments hold
// the converters' notes, and what happens to the rest of the file. The packages below it,
// one per format, define what a legacy document means; package policy decides whether it
// is valid. Only programs import these packages. They pass functions such as Convert and
// ConvertFile to the readers of policies.
//
// Invariants:
//   - A file's policies mean the same before and after: Load reads both, with
//     the same converters.
//   - Documents that are not converted keep every byte. If something inside a
//     manifest changes, everything else in it keeps its meaning, which is
//     checked.
//   - Converting a converted file changes nothing.
//   - Nothing is lost silently: a note reports whatever has no equivalent or
//     means something different.
//   - A converter accepts only what it fully understands, as policy does: an
//     unknown field or a value of a wrong type is an error with its path.
package compat
