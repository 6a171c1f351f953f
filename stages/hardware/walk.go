package hardware

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"infbench/gates"
	"infbench/stages/endpoint"
)

// The checks that walk through the kernels have one rule: what is sane or right alone and is
// not so in a shape of its own (a length, a batch, a sampler), more than once, is the
// server's fault; what a model cannot do alone is held against nobody.

// walkLimit is how long one of these checks goes on to larger shapes where nobody says.
const walkLimit = 12 * time.Second

// step is one request of a walk and what came of it.
type step struct {
	want    gates.Canary
	request endpoint.Request
	answer  endpoint.Answer
	err     error
}

// asking makes a step that asks for a code behind some other text, in the words that the
// smallest real models answer.
func (s Subject) asking(text func(seed uint64) string) step {
	c := s.Canaries().Issue()
	seed, _ := strconv.ParseUint(c.String(), 10, 64) // digits, and no other run has them
	prompt := strings.TrimSpace(text(seed) + " The secret code is " + c.String() + ". What is the secret code?")
	return step{want: c, request: endpoint.Chat(prompt).MaxTokens(48)}
}

// sentences is the text of a step: so many sentences that no other step has.
func sentences(n int) func(uint64) string {
	return func(seed uint64) string { return endpoint.NewProse(seed).Sentences(n) }
}

// put sends the request and returns the step with what came of it.
func (t step) put(ctx context.Context, s Subject) step {
	t.answer = s.Stream(ctx, t.request)
	t.err = t.answer.Err()
	return t
}

// together puts steps at one moment and waits for all.
func (s Subject) together(ctx context.Context, steps []step) []step {
	out := make([]step, len(steps))
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range steps {
		wg.Go(func() {
			<-start
			out[i] = steps[i].put(ctx, s)
		})
	}
	close(start)
	wg.Wait()
	return out
}

// right reports whether the code came back, on whatever channel: a model that thinks may not
// come to its answer.
func (t step) right(s Subject) bool { return t.err == nil && t.echo(s) == gates.Found }

func (t step) echo(s Subject) gates.Echo {
	e, _ := s.Canaries().Judge(t.answer.Everything(), t.want)
	return e
}

// turnedAway reports whether there was no room for the request, which is no wrong answer.
func (t step) turnedAway() bool {
	var f *endpoint.Failure
	return errors.As(t.err, &f) && f.Kind == endpoint.Busy
}

// ill says what is wrong with a step that no model's lack of ability explains, "" for nothing.
func (t step) ill() string {
	if t.err != nil {
		if t.turnedAway() {
			return ""
		}
		return "no answer: " + t.err.Error()
	}
	n, counted := t.answer.Usage.Completion.N()
	if t.answer.Everything() == "" && (!counted || n > 1) {
		return "not a single character (finish_reason " + gates.Quote(t.answer.Finish, 20) + ")"
	}
	for _, text := range []string{t.answer.Content, t.answer.Reasoning} {
		if what := insane(text, t.request.Text(), t.answer.CutShort()); what != "" {
			return what + ": " + gates.Quote(text, 120)
		}
	}
	return ""
}

// illness is ill, and being turned away counts: by a server that has just failed it is no
// want of room.
func (t step) illness() string {
	if t.turnedAway() {
		return "no answer: " + t.err.Error()
	}
	return t.ill()
}

// others are the symptoms that no kernel makes, or that may be the model's own: loops, blanks
// to the end, markers of a template. Stage 2 looks at them.
var others = []string{"D1", "D9", "D10"}

// insane says what is degenerate about a text, "" for nothing. One character and nothing else
// is no model's answer to a question.
func insane(text, prompt string, cut bool) string {
	for _, symptom := range gates.Degenerate(text, gates.TextContext{Prompt: prompt, CutShort: cut}) {
		if symptom.Hard && !slices.Contains(others, symptom.ID) {
			return symptom.ID + ", " + symptom.Detail
		}
	}
	const enough = 16
	squeezed := strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
	if first, size := utf8.DecodeRuneInString(squeezed); size > 0 && utf8.RuneCountInString(squeezed) >= enough && strings.Trim(squeezed, string(first)) == "" {
		return fmt.Sprintf("%s again and again", gates.Quote(string(first), 4))
	}
	return ""
}

// says quotes a step for evidence.
func (t step) says() string {
	if t.err != nil {
		return fmt.Sprintf("asked for %s: %v", t.want, t.err)
	}
	return fmt.Sprintf("asked for %s, answered %s", t.want, t.answer.Says())
}

// control puts the easiest question twice, short and alone. why says that the rest of the
// walk has nothing to compare with; able that the model gives codes back.
func (s Subject) control(ctx context.Context) (able bool, why string, err error) {
	right, sane, ill := 0, 0, ""
	for range 2 {
		t := s.asking(sentences(1)).put(ctx, s)
		if t.err != nil {
			return false, "", t.err
		}
		if what := t.ill(); what != "" {
			ill = what
		} else {
			sane++
		}
		if t.right(s) {
			right++
		}
	}
	if sane == 0 {
		return false, "already alone and short: " + ill, nil
	}
	return right == 2, "", nil
}

// walk is a stock of time.
type walk struct {
	began time.Time
	limit time.Duration
}

func (s Subject) begin() walk { return walk{time.Now(), cmp.Or(s.Limit, walkLimit)} }

// affords reports whether something of that length still fits.
func (w walk) affords(d time.Duration) bool { return time.Since(w.began)+d <= w.limit }
