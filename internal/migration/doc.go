// Package migration is the wing for files of earlier systems: the one place
// that knows of them. It brings their files into the current format, text in,
// text out, and gives the policy's loader what it needs to take them as they
// are. It decides which documents of a file are converted, where the notes of
// the converters stand as comments, and what becomes of the rest of the file.
// What a document of an earlier system means is left to the packages below, one
// for each form; whether it is valid to package policy.
//
// Invariants:
//   - What a file's policies mean is the same before and after, because both are
//     read by Load and the converters are those that it uses.
//   - What is not converted stays byte by byte; where something inside of a
//     manifest changes, everything else in it keeps its meaning, which is checked.
//   - Converting what has been converted changes nothing.
//   - Nothing is lost silently: what has no equal here, or means something else,
//     is a note.
//   - A converter takes only what it understands completely, as policy does: an
//     unknown field or a value of a wrong type is an error with its path.
package migration
