package gates

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
)

// A Canary is an eight-digit code that is planted in a prompt and asked for. The
// smallest real models return eight digits from a plain sentence; letters, words
// and sums they do not. The zero Canary is none.
type Canary struct{ digits string }

// String returns the digits.
func (c Canary) String() string { return c.digits }

// minHamming is the least number of positions in which two canaries of one run
// differ: a model that slips by a digit or two is then not taken for one that
// answers with somebody else's code.
const minHamming = 4

// Canaries issues the canaries of one run and remembers all of them, so that an
// answer with somebody else's code is recognised. It is safe for concurrent use.
type Canaries struct {
	mu     sync.Mutex
	rng    *rand.Rand
	issued []string
	known  map[string]bool
}

// NewCanaries returns an empty ledger of canaries; equal seeds issue equal codes.
func NewCanaries(seed uint64) *Canaries {
	return &Canaries{rng: rand.New(rand.NewPCG(seed, 0x63616e617279)), known: map[string]bool{}}
}

// Issue returns a new canary, unlike each earlier one and, while there are fewer than
// some 2,000, at least four digits away from it.
func (c *Canaries) Issue() Canary {
	c.mu.Lock()
	defer c.mu.Unlock()
	for try := 0; ; try++ {
		// 10,000,000 and up: a leading zero would be lost by a model that reads a number.
		d := fmt.Sprintf("%08d", 10_000_000+c.rng.IntN(90_000_000))
		// Some 2,000 codes fill the space at the full distance (Gilbert and Varshamov);
		// after that many tries a nearer code has to do, and each stays unique.
		if !c.known[d] && c.distinct(d, max(1, minHamming-try/64)) {
			c.issued = append(c.issued, d)
			c.known[d] = true
			return Canary{d}
		}
	}
}

func (c *Canaries) distinct(d string, apart int) bool {
	// A repeated digit run ("11111111") is what a looping model emits by itself.
	if strings.Count(d, d[:1]) > 4 {
		return false
	}
	for _, o := range c.issued {
		if hamming(d, o) < apart {
			return false
		}
	}
	return true
}

func hamming(a, b string) int {
	n := 0
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// Echo says how an answer holds the canary that it was asked for.
type Echo uint8

// The ways in which a canary comes back. A foreign code is proof that requests
// were mixed: with a thousand codes issued, chance does it once in 100,000.
const (
	Absent  Echo = iota // nothing like it
	Slip                // a code within two edits of it
	Found               // exactly it
	Foreign             // another request's code
)

var echoNames = [...]string{"absent", "slip", "found", "foreign"}

// String returns the echo in a word.
func (e Echo) String() string { return echoNames[e] }

// Judge looks for want in the answer. Codes of own, which the same prompt held
// too, are not foreign. seen is the code that decided, "" when there is none.
func (c *Canaries) Judge(answer string, want Canary, own ...Canary) (e Echo, seen string) {
	mine := map[string]bool{want.digits: true}
	for _, o := range own {
		mine[o.digits] = true
	}
	runs := digitRuns(answer)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range runs {
		if c.known[r] && !mine[r] {
			return Foreign, r
		}
	}
	if strings.Contains(joinDigits(answer), want.digits) {
		return Found, want.digits
	}
	for _, r := range runs {
		if len(r) >= 6 && len(r) <= 10 && editDistance(r, want.digits) <= 2 {
			return Slip, r
		}
	}
	return Absent, ""
}

// digitRuns returns the maximal runs of ASCII digits.
func digitRuns(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

// joinDigits drops single separators inside numbers, as in "48 213 907".
func joinDigits(s string) string {
	digit := func(i int) bool { return i >= 0 && i < len(s) && s[i] >= '0' && s[i] <= '9' }
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if strings.IndexByte(" ,.-_'", s[i]) >= 0 && digit(i-1) && digit(i+1) {
			continue
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diag := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diag, row[j] = row[j], min(row[j]+1, row[j-1]+1, diag+cost)
		}
	}
	return row[len(b)]
}
