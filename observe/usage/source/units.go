package source

// Unit is what a source's numbers count.
type Unit string

// The units of usage.
const (
	// Cores are CPUs, Milli thousandths of them.
	Cores Unit = "cores"
	Milli Unit = "milli"
	// Bytes are bytes.
	Bytes Unit = "bytes"
	// Percent is 0 to 100 of a node's capacity, Fraction 0 to 1.
	Percent  Unit = "percent"
	Fraction Unit = "fraction"
	// None takes the number as it is.
	None Unit = "none"
	// Auto distinguishes percent and fraction by how the number is written.
	Auto Unit = "auto"
)

// Scheme is how a node is spoken to.
type Scheme string

// The schemes.
const (
	HTTP  Scheme = "http"
	HTTPS Scheme = "https"
)
