package source

// Unit is the unit of a source's values.
type Unit string

// The units of usage.
const (
	// Cores is the unit of whole CPUs, Milli that of thousandths of a CPU.
	Cores Unit = "cores"
	Milli Unit = "milli"
	Bytes Unit = "bytes"
	// Percent is 0 to 100 of a node's capacity, Fraction 0 to 1.
	Percent  Unit = "percent"
	Fraction Unit = "fraction"
	// None uses the number unchanged.
	None Unit = "none"
	// Auto distinguishes percent and fraction by the number of decimals.
	Auto Unit = "auto"
)

// Scheme is the URL scheme for queries to nodes.
type Scheme string

// The schemes.
const (
	HTTP  Scheme = "http"
	HTTPS Scheme = "https"
)
