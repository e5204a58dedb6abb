package trace

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every error names the line.
func TestReadNamesTheLineOfAMistake(t *testing.T) {
	whole := packed(t, "id,0,1\n"+strings.Repeat("a,1.5,2.25\n", 5000))
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-6] ^= 0xff // part of the checksum

	for name, tc := range map[string]struct {
		data []byte
		want string
	}{
		"an empty file":              {[]byte(""), "line 1: the trace is empty"},
		"nothing but line ends":      {[]byte("\n\n\n"), "line 1: the trace is empty"},
		"a header alone":             {[]byte("id,0,1\n"), "line 2: the trace ends without a series"},
		"no header":                  {[]byte("a,1,2\nb,1,2\n"), `line 1: the header is "a,1,2": must be "id" and one number per step`},
		"a header without steps":     {[]byte("id\na\n"), `line 1: the header is "id": must be "id" and one number per step`},
		"prose":                      {[]byte("This is no trace at all, but a letter to somebody else.\n"), `line 1: the header is "This is no trace at all, but a letter to": must be "id" and one number per step`},
		"a row that is too short":    {[]byte("id,0,1\na,1,2\nb,1\n"), "line 3: must have as many cells as the header, 3"},
		"a row that is too long":     {[]byte("id,0,1\na,1,2\nb,1,2,3\n"), "line 3: must have as many cells as the header, 3"},
		"a row after an empty line":  {[]byte("id,0,1\na,1,2\n\n\nb,1\n"), "line 5: must have as many cells as the header, 3"},
		"text for a number":          {[]byte("id,0,1\na,1,2\nb,1,busy\n"), `line 3: series "b": step 1: "busy" is not a percentage from 0 to 1000`},
		"an empty cell":              {[]byte("id,0,1\na,,2\n"), `line 2: series "a": step 0: "" is not a percentage from 0 to 1000`},
		"a number with its unit":     {[]byte("id,0\na,5%\n"), `line 2: series "a": step 0: "5%" is not a percentage from 0 to 1000`},
		"a decimal comma":            {[]byte("id;0\na;5,5\n"), `line 1: the header is "id;0": must be "id" and one number per step`},
		"not a number":               {[]byte("id,0,1\na,1,2\nb,NaN,2\n"), `line 3: series "b": step 0: "NaN" is not a percentage from 0 to 1000`},
		"without an end":             {[]byte("id,0\na,Inf\n"), `line 2: series "a": step 0: "Inf" is not a percentage from 0 to 1000`},
		"below zero":                 {[]byte("id,0\na,-0.01\n"), `line 2: series "a": step 0: "-0.01" is not a percentage from 0 to 1000`},
		"a billion percent":          {[]byte("id,0,1\na,1,1e9\n"), `line 2: series "a": step 1: "1e9" is not a percentage from 0 to 1000`},
		"beyond any float":           {[]byte("id,0\na,1e999\n"), `line 2: series "a": step 0: "1e999" is not a percentage from 0 to 1000`},
		"a header of names":          {[]byte("id,cpu,mem\na,1,2\n"), `line 1: the header is "id,cpu,mem": must be "id" and one number per step`},
		"a header that rings a bell": {[]byte("id,\a\x1b[2J\na,1\n"), `line 1: the header is "id,\a\x1b[2J": must be "id" and one number per step`},
		"a hexadecimal number":       {[]byte("id,0\na,0x1p3\n"), `line 2: series "a": step 0: "0x1p3" is not a percentage from 0 to 1000`},
		"digits in groups":           {[]byte("id,0\na,1_0\n"), `line 2: series "a": step 0: "1_0" is not a percentage from 0 to 1000`},
		"a hexadecimal name":         {[]byte("id,0\na,0x\n"), `line 2: series "a": step 0: "0x" is not a percentage from 0 to 1000`},
		"a cell of a megabyte":       {[]byte("id,0\na," + strings.Repeat("9", 1<<20) + "\n"), `line 2: series "a": step 0: "` + strings.Repeat("9", 40) + `" is not a percentage from 0 to 1000`},
		"a name of a megabyte":       {[]byte("id,0\n" + strings.Repeat("n", 1<<20) + ",x\n"), `line 2: series "` + strings.Repeat("n", 60) + `": step 0: "x" is not a percentage from 0 to 1000`},
		"a quote that does not end":  {[]byte("id,0\na,1\n\"b,2\nc,3\n"), `line 3: a row that begins here continues to line 4: extraneous or missing " in quoted-field`},
		"a quote within a cell":      {[]byte("id,0\na,1\nb\"c,2\n"), `line 3, column 2: bare " in non-quoted-field`},
		"a name over three lines":    {[]byte("id,0\n\"a\nb\nc\",x\n"), `line 2: series "a\nb\nc": step 0: "x" is not a percentage from 0 to 1000`},
		"after a name over lines":    {[]byte("id,0\n\"a\nb\",1\nc,x\n"), `line 4: series "c": step 0: "x" is not a percentage from 0 to 1000`},
		"compressed, cut off early":  {whole[:14], "line 1: the compressed file is truncated"},
		"compressed, a header alone": {whole[:5], "line 1: not gzip after all: unexpected EOF"},
		"compressed, empty":          {packed(t, ""), "line 1: the trace is empty"},
		"compressed, a mistake":      {packed(t, "id,0\na,1\nb,x\n"), `line 3: series "b": step 0: "x" is not a percentage from 0 to 1000`},
		"compressed, wrong checksum": {flipped, "line 5002: gzip: invalid checksum"},
		"the mark of gzip alone":     {[]byte{0x1f, 0x8b}, "line 1: not gzip after all: unexpected EOF"},
		"gzip of another kind":       {[]byte{0x1f, 0x8b, 7, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3}, "line 1: not gzip after all: gzip: invalid header"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Read(bytes.NewReader(tc.data))
			if err == nil || err.Error() != tc.want {
				t.Errorf("read %d series, with the error\n  %v\nwant\n  %s", len(idsOf(got)), err, tc.want)
			}
		})
	}
}

// idsOf returns the names of the series in a trace; nil if there is no trace.
func idsOf(t *Trace) []string {
	if t == nil {
		return nil
	}
	return t.IDs
}

// If a compressed file was cut off, the error names the line at which it ends or a slightly earlier
// one.
func TestReadNamesTheLineWhereACompressedFileEnds(t *testing.T) {
	var text strings.Builder
	text.WriteString("id,0,1\n")
	state := uint32(1)
	for range 20_000 {
		state = state*1664525 + 1013904223
		text.WriteString("a," + []string{"1", "2.5", "31.25", "7"}[state>>30] + "," + []string{"9", "0.5", "3", "47"}[state>>28&3] + "\n")
	}
	whole := packed(t, text.String())
	_, err := Read(bytes.NewReader(whole[:len(whole)/2]))
	if err == nil || !regexp.MustCompile(`^line \d{4,5}: the compressed file is truncated$`).MatchString(err.Error()) {
		t.Errorf("the error is %v", err)
	}
}

func TestReadOfBinaryDataNamesALine(t *testing.T) {
	for name, data := range map[string][]byte{
		"zeros":                    make([]byte, 4096),
		"a program":                append([]byte("\x7fELF\x02\x01\x01\x00"), bytes.Repeat([]byte{0, 255, 10, 34}, 1000)...),
		"a picture":                []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"),
		"an archive":               []byte("PK\x03\x04\x14\x00\x00\x00\x08\x00"),
		"zstd":                     []byte("\x28\xb5\x2f\xfd\x04\x58\x01\x00"),
		"utf-16":                   []byte("\xff\xfei\x00d\x00,\x000\x00\n\x00"),
		"a mark of the byte order": []byte("\xef\xbb\xbfid,0\na,1\n"),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read(bytes.NewReader(data))
			if err == nil || !strings.HasPrefix(err.Error(), "line 1") {
				t.Errorf("the error is %v, want one of line 1", err)
			}
			if err != nil && len(err.Error()) > 300 {
				t.Errorf("the error has %d characters", len(err.Error()))
			}
		})
	}
}

var errDisk = errors.New("the disk is gone")

// broken returns some lines and then an error.
type broken struct{ r io.Reader }

func (b *broken) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if errors.Is(err, io.EOF) {
		err = errDisk
	}
	return n, err
}

func TestReadReportsABrokenDisk(t *testing.T) {
	_, err := Read(&broken{strings.NewReader("id,0\na,1\nb,2\n")})
	if !errors.Is(err, errDisk) || !strings.HasPrefix(err.Error(), "line 4: ") {
		t.Errorf("the error is %v, want %v of line 4", err, errDisk)
	}
}

func TestOpenNamesTheFile(t *testing.T) {
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing.csv")
	if _, err := Open(missing); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), missing) {
		t.Errorf("of a file that is missing the error is %v", err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("of a folder the error is %v", err)
	}
	bad := filepath.Join(dir, "bad.csv")
	if err := os.WriteFile(bad, []byte("id,0\na,x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	want := bad + `: line 2: series "a": step 0: "x" is not a percentage from 0 to 1000`
	if _, err := Open(bad); err == nil || err.Error() != want {
		t.Errorf("of a bad file the error is\n  %v\nwant\n  %s", err, want)
	}
}

// A small compressed file can contain a huge table, so reading stops at a limit.
func TestReadEndsAtABound(t *testing.T) {
	for name, tc := range map[string]struct {
		begin, line string
		want        string
	}{
		"endless short rows":     {"id,0\n", "a,1\n", "more than 500000 series"},
		"an endless header":      {"id", ",1", "line 1: a row is longer than 16777216 bytes"},
		"an endless row":         {"id,0\na", ",1", "line 2: a row is longer than 16777216 bytes"},
		"an endless name":        {"id,0\n", "nnnnnnnn", "line 2: a row is longer than 16777216 bytes"},
		"an endless quoted name": {"id,0\n\"", "n\n", "line 2: a row is longer than 16777216 bytes"},
		"endless empty lines":    {"id,0\n", "\n", "line 2: a row is longer than 16777216 bytes"},
		"endless empty header":   {"", "\n", "line 1: a row is longer than 16777216 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			in := io.MultiReader(strings.NewReader(tc.begin), &endless{line: []byte(tc.line)})
			trace, err := Read(in)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("read %d series, with the error %.300v, want %s", len(idsOf(trace)), err, tc.want)
			}
		})
	}
}

// The memory for many rows is bounded, whatever they contain.
func TestReadKeepsABoundedAmount(t *testing.T) {
	for name, tc := range map[string]struct {
		line  string
		steps int
		want  string
	}{
		"values": {"a,1,2,3\n", 3, "line 18: the series"}, // 113 bytes each, from line 1 on
		"names":  {strings.Repeat("n", 872) + ",1,2,3\n", 3, "line 3: the series"},
	} {
		rows := &rowReader{in: &endless{line: []byte(tc.line)}, most: 1 << 20}
		rows.table = csv.NewReader(rows)
		trace, err := readRows(rows, tc.steps, 2000)
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
			t.Errorf("%s: read %d series, with the error %v, want %s", name, len(idsOf(trace)), err, tc.want)
		}
	}
}

// A compressed file is rejected if its compression ratio is far higher than any recorder's.
func TestGzipBombsAreRefused(t *testing.T) {
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	row := []byte("a,1." + strings.Repeat("0", 1<<20) + "\n")
	_, err := w.Write([]byte("id,0\n"))
	for range 300 {
		if err == nil {
			_, err = w.Write(row)
		}
	}
	if err = errors.Join(err, w.Close()); err != nil || bomb.Len() > 2<<20 {
		t.Fatalf("the bomb has %d bytes, error %v", bomb.Len(), err)
	}
	if trace, err := Read(&bomb); err == nil || !strings.Contains(err.Error(), "unpacks to more than 256 MB") {
		t.Errorf("read %d series, with the error %v", len(idsOf(trace)), err)
	}
}

// endless repeats a line.
type endless struct {
	line []byte
	at   int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, e.line[e.at:])
	e.at = (e.at + n) % len(e.line)
	return n, nil
}

// Reading returns a valid table, or an error that names a line.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		"id,0,1\na,1,2\nb,3,4.5\n", "id,0\n", "", "id,0\na,NaN\n", "id,0\n\"a\nb\",1\nc,x\n", "id,0,1\na,1\n", "id\na\n", "\x1f\x8b\x08\x00",
	} {
		f.Add([]byte(seed))
		f.Add(packed(f, seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		trace, err := Read(bytes.NewReader(data))
		if err != nil {
			if !regexp.MustCompile(`^line \d+[:,]`).MatchString(err.Error()) {
				t.Fatalf("the error names no line: %v", err)
			}
			return
		}
		if len(trace.IDs) != len(trace.Series) || trace.Steps() == 0 {
			t.Fatalf("%d names, %d series, %d steps", len(trace.IDs), len(trace.Series), trace.Steps())
		}
		for _, series := range trace.Series {
			if len(series) != trace.Steps() {
				t.Fatalf("a series of %d steps among those of %d", len(series), trace.Steps())
			}
			for _, v := range series {
				if math.IsNaN(float64(v)) || v < 0 || v > MaxPercent {
					t.Fatalf("a value of %v", v)
				}
			}
		}
	})
}
