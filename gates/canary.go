package gates

import (
	"fmt"
	"math/bits"
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
	issued []uint32 // packed, one digit in four bits
	apart  int
	known  map[string]bool
}

// NewCanaries returns an empty ledger of canaries; equal seeds issue equal codes.
func NewCanaries(seed uint64) *Canaries {
	return &Canaries{rng: rand.New(rand.NewPCG(seed, 0x63616e617279)), apart: minHamming, known: map[string]bool{}}
}

// Issue returns a new canary, unlike each earlier one and, while there are fewer than
// some 2,000, at least four digits away from it.
func (c *Canaries) Issue() Canary {
	c.mu.Lock()
	defer c.mu.Unlock()
	for try := 1; ; try++ {
		// 10,000,000 and up: a leading zero would be lost by a model that reads a number.
		d := fmt.Sprintf("%08d", 10_000_000+c.rng.IntN(90_000_000))
		if !c.known[d] && c.distinct(d) {
			c.issued = append(c.issued, pack(d))
			c.known[d] = true
			return Canary{d}
		}
		// Some 2,000 codes can always be issued at the full distance (Gilbert and
		// Varshamov). When tries find no more, nearer codes have to do from then on;
		// each stays unique.
		if try%64 == 0 {
			c.apart = max(1, c.apart-1)
		}
	}
}

func (c *Canaries) distinct(d string) bool {
	// One digit over and over ("11111111", "10000000") is what a looping or rounding
	// model emits by itself.
	for digit := byte('0'); digit <= '9'; digit++ {
		if strings.Count(d, string(digit)) > 4 {
			return false
		}
	}
	p := pack(d)
	for _, o := range c.issued {
		if hamming(p, o) < c.apart {
			return false
		}
	}
	return true
}

func pack(digits string) uint32 {
	var p uint32
	for i := range len(digits) {
		p = p<<4 | uint32(digits[i]-'0')
	}
	return p
}

// hamming counts the digits in which two packed codes differ.
func hamming(a, b uint32) int {
	x := a ^ b
	x |= x >> 2
	x |= x >> 1
	return bits.OnesCount32(x & 0x11111111)
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
// too, are not foreign. seen is the code that decided, "" when there is none. A
// code counts however its digits are grouped: 48 213 907 is 48213907. The zero
// Canary is never found.
func (c *Canaries) Judge(answer string, want Canary, own ...Canary) (e Echo, seen string) {
	mine := map[string]bool{want.digits: true}
	for _, o := range own {
		mine[o.digits] = true
	}
	joined := joinDigits(answer)
	runs := append(digitRuns(joined), digitRuns(answer)...)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range runs {
		if c.known[r] && !mine[r] {
			return Foreign, r
		}
	}
	if want == (Canary{}) {
		return Absent, ""
	}
	if strings.Contains(joined, want.digits) {
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

// groupers stand between the digits of one number: blanks, the narrow ones of
// European typesetting among them, and the usual marks.
const groupers = " ,.-_'\u00a0\u2009\u202f\u2019"

// joinDigits drops single separators inside numbers, as in "48 213 907", and writes
// full-width digits as ASCII.
func joinDigits(s string) string {
	r := []rune(s)
	for i, c := range r {
		if c >= '０' && c <= '９' {
			r[i] = c - '０' + '0'
		}
	}
	digit := func(i int) bool { return i >= 0 && i < len(r) && r[i] >= '0' && r[i] <= '9' }
	var b strings.Builder
	for i, c := range r {
		if digit(i-1) && digit(i+1) && strings.ContainsRune(groupers, c) {
			continue
		}
		b.WriteRune(c)
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
