// Package compat is the only part that knows the files of legacy systems. It
// converts them into the current format, text in, text out, and lets the
// policy's loader read them as they are. It decides which documents of a file
// are converted, where comments hold the converters' notes, and what becomes of
// the rest of the file. The packages below it, one per format, decide what a
// legacy document means; package policy decides whether it is valid. Only
// programs import these packages: they pass Convert, ConvertFile and the like
// to the readers of policies.
//
// Invariants:
//   - A file's policies mean the same before and after: Load reads both, with
//     the same converters.
//   - Documents that are not converted keep every byte. If something inside a
//     manifest changes, everything else in it keeps its meaning, which is
//     checked.
//   - Converting a converted file changes nothing.
//   - - Nothing is lost silently: whatever has no equivalent, or means
//     something different, gets a note.
//   - A converter accepts only what it fully understands, as policy does: an
//     unknown field or a value of a wrong type is an error with its path.
package compat
