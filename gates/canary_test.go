package gates_test

import (
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"infbench/gates"
)

func issue(c *gates.Canaries, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = c.Issue().String()
	}
	return out
}

func differing(a, b string) int {
	n := 0
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// Two thousand codes are pairwise at least four digits apart; a sample of 200 is
// held against all.
func TestCanariesAreFarApart(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		codes := issue(gates.NewCanaries(seed), 2000)
		for i, a := range codes {
			if len(a) != 8 || strings.Trim(a, "0123456789") != "" || a[0] == '0' {
				t.Fatalf("seed %d: %q is no eight-digit number", seed, a)
			}
			for _, d := range "0123456789" {
				if strings.Count(a, string(d)) > 4 {
					t.Errorf("seed %d: %s is what a looping model emits by itself", seed, a)
				}
			}
			if i%10 != 0 {
				continue
			}
			for j, b := range codes {
				if n := differing(a, b); i != j && n < 4 {
					t.Errorf("seed %d: %s and %s differ in %d digits, want 4", seed, a, b, n)
				}
			}
		}
	}
}

// After the space is full at that distance, codes are still issued, quickly, and
// each stays unique. The test's own time limit is the bound.
func TestManyCanariesStayUnique(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, c := range issue(gates.NewCanaries(5), 20_000) {
		if seen[c] {
			t.Fatalf("%s was issued twice", c)
		}
		seen[c] = true
	}
}

func TestCanariesFollowTheSeed(t *testing.T) {
	t.Parallel()
	a, b, c := issue(gates.NewCanaries(9), 50), issue(gates.NewCanaries(9), 50), issue(gates.NewCanaries(10), 50)
	if strings.Join(a, " ") != strings.Join(b, " ") {
		t.Error("equal seeds issue different codes")
	}
	if strings.Join(a, " ") == strings.Join(c, " ") {
		t.Error("different seeds issue equal codes")
	}
}

func TestCanariesConcurrently(t *testing.T) {
	t.Parallel()
	c := gates.NewCanaries(1)
	var mu sync.Mutex
	seen := map[gates.Canary]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				code := c.Issue()
				c.Judge("nothing", code)
				mu.Lock()
				seen[code] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if len(seen) != 400 {
		t.Errorf("%d different codes, want 400", len(seen))
	}
}

// grouped writes a code with a separator behind each group of digits.
func grouped(code, sep string, groups ...int) string {
	var parts []string
	for _, n := range groups {
		parts = append(parts, code[:n])
		code = code[n:]
	}
	return strings.Join(parts, sep)
}

// turn replaces the digit at i by its successor.
func turn(code string, i int) string {
	b := []byte(code)
	b[i] = '0' + (b[i]-'0'+1)%10
	return string(b)
}

func TestJudge(t *testing.T) {
	t.Parallel()
	c := gates.NewCanaries(3)
	want, own, other := c.Issue(), c.Issue(), c.Issue()
	w, o := want.String(), other.String()
	fullWidth := strings.Map(func(r rune) rune { return r - '0' + '０' }, w)
	tests := []struct {
		name, answer string
		echo         gates.Echo
		seen         string
	}{
		{"in a sentence", "The secret code is " + w + ".", gates.Found, w},
		{"bare", w, gates.Found, w},
		{"bold, quoted, in code", "**" + w + "** or \"" + w + "\" or `" + w + "`", gates.Found, w},
		{"grouped by blanks", grouped(w, " ", 2, 3, 3), gates.Found, w},
		{"grouped by commas", grouped(w, ",", 2, 3, 3), gates.Found, w},
		{"grouped by a hyphen", grouped(w, "-", 4, 4), gates.Found, w},
		{"grouped by points", grouped(w, ".", 2, 3, 3), gates.Found, w},
		{"grouped by no-break blanks", grouped(w, "\u00a0", 2, 3, 3), gates.Found, w},
		{"grouped by narrow blanks", grouped(w, "\u202f", 2, 3, 3), gates.Found, w},
		{"grouped as in Switzerland", grouped(w, "’", 2, 3, 3), gates.Found, w},
		{"digit by digit", grouped(w, " ", 1, 1, 1, 1, 1, 1, 1, 1), gates.Found, w},
		{"full-width digits", "暗証番号は" + fullWidth + "です。", gates.Found, w},
		{"inside a longer number", "id-00" + w + "00", gates.Found, w},
		{"beside the own one", own.String() + " is the blue one, " + w + " the red one", gates.Found, w},
		{"another request's code", "It is " + o + ".", gates.Foreign, o},
		{"another request's code, grouped", "It is " + grouped(o, ",", 2, 3, 3) + ".", gates.Foreign, o},
		{"another request's code beside the right one", w + " or " + o, gates.Foreign, o},
		{"another request's code, one blank behind the right one", w + " " + o, gates.Foreign, o},
		{"own code of the same prompt", "It is " + own.String(), gates.Absent, ""},
		{"one digit wrong", "It is " + turn(w, 3), gates.Slip, turn(w, 3)},
		{"two digits wrong", "It is " + turn(turn(w, 0), 7), gates.Slip, turn(turn(w, 0), 7)},
		{"one digit wrong, grouped", "It is " + grouped(turn(w, 3), " ", 2, 3, 3), gates.Slip, turn(w, 3)},
		{"one digit lost", "It is " + w[:7], gates.Slip, w[:7]},
		{"two digits lost", "It is " + w[2:], gates.Slip, w[2:]},
		{"two digits added inside", "It is " + w[:4] + "99" + w[4:], gates.Slip, w[:4] + "99" + w[4:]},
		{"three digits wrong", "It is " + turn(turn(turn(w, 0), 3), 7), gates.Absent, ""},
		{"three digits lost", "It is " + w[3:], gates.Absent, ""},
		{"two separators are a list", "It is " + grouped(w, ", ", 4, 4), gates.Absent, ""},
		{"no number", "I cannot tell you.", gates.Absent, ""},
		{"empty", "", gates.Absent, ""},
		{"broken bytes", "\xff\xfe" + w + "\xff", gates.Found, w},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if echo, seen := c.Judge(tt.answer, want, own); echo != tt.echo || seen != tt.seen {
				t.Errorf("%q for %s: got %s %q, want %s %q", tt.answer, w, echo, seen, tt.echo, tt.seen)
			}
		})
	}
}

// The code of another ledger is nobody's here, and no code is never found: an empty
// expectation must not pass.
func TestJudgeVacuously(t *testing.T) {
	t.Parallel()
	c := gates.NewCanaries(3)
	code := c.Issue().String()
	for _, answer := range []string{"", "anything", "12345678"} {
		if echo, seen := c.Judge(answer, gates.Canary{}); echo != gates.Absent || seen != "" {
			t.Errorf("the zero canary in %q: %s %q, want absent", answer, echo, seen)
		}
	}
	if echo, seen := c.Judge("It is "+code, gates.Canary{}); echo != gates.Foreign || seen != code {
		t.Errorf("got %s %q, want foreign %s", echo, seen, code)
	}
	empty := gates.NewCanaries(4)
	if echo, _ := empty.Judge("It is "+code, empty.Issue()); echo == gates.Foreign {
		t.Error("a code of another run is called foreign")
	}
	var e gates.Echo
	if e != gates.Absent || e.String() != "absent" || gates.Foreign.String() != "foreign" {
		t.Errorf("the zero echo is %s", e)
	}
}

func TestCodeInAnyPlainSentenceIsFound(t *testing.T) {
	t.Parallel()
	word := rapid.StringMatching(`[A-Za-zäöüéßж漢]{1,9}[,.;:!?)'"*]?`)
	rapid.Check(t, func(t *rapid.T) {
		c := gates.NewCanaries(rapid.Uint64().Draw(t, "seed"))
		for range rapid.IntRange(0, 30).Draw(t, "others") {
			c.Issue()
		}
		want := c.Issue()
		before := strings.Join(rapid.SliceOfN(word, 0, 12).Draw(t, "before"), " ")
		after := strings.Join(rapid.SliceOfN(word, 0, 12).Draw(t, "after"), " ")
		sep := rapid.SampledFrom([]string{" ", "\n", ": ", " \"", " **", "(", "", "\u3000"}).Draw(t, "separator")
		code := rapid.SampledFrom([]string{
			want.String(), grouped(want.String(), " ", 2, 3, 3), grouped(want.String(), ",", 2, 3, 3), grouped(want.String(), "-", 4, 4),
		}).Draw(t, "code")
		if echo, seen := c.Judge(before+sep+code+" "+after, want); echo != gates.Found || seen != want.String() {
			t.Fatalf("%q for %s: %s %q", before+sep+code+" "+after, want, echo, seen)
		}
		// Without the code it is not found, and is nobody else's.
		if echo, _ := c.Judge(before+sep+after, want); echo != gates.Absent {
			t.Fatalf("%q for %s: %s", before+sep+after, want, echo)
		}
	})
}

func FuzzJudge(f *testing.F) {
	f.Add("The code is 48 213 907.", uint64(1))
	f.Add("１２３４５６７８", uint64(2))
	f.Add("\xff1\xff2", uint64(3))
	f.Fuzz(func(t *testing.T, answer string, seed uint64) {
		c := gates.NewCanaries(seed)
		want, other := c.Issue(), c.Issue()
		if echo, _ := c.Judge(answer+"\n"+want.String()+"\n", want, other); echo != gates.Found {
			t.Errorf("%q: %s, want found", answer, echo)
		}
		if echo, _ := c.Judge(answer+"\n"+other.String()+"\n", want); echo != gates.Foreign {
			t.Errorf("%q: %s, want foreign", answer, echo)
		}
	})
}
