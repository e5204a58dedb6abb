// Package convert brings files of earlier systems into today's form: text in,
// text out. It decides which documents of a file are converted, where the notes of
// the converters stand as comments, and what becomes of the rest of the file. What
// an earlier document means is left to the packages below policy/earlier, whether
// it is valid to package policy.
//
// Invariants:
//   - What a file's policies mean is the same before and after, because both are
//     read by policy.Load and the converters are those that it uses.
//   - What is not converted stays byte by byte; where something inside of a
//     manifest changes, everything else in it keeps its meaning, which is checked.
//   - Converting what has been converted changes nothing.
package convert
