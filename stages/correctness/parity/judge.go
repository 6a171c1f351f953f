package parity

import (
	"fmt"
	"strings"

	"infbench/gates"
)

// A Claim is what the target's numbers are said to be. The zero Claim says nothing: the
// comparison then tells what it measures like, and only what no precision explains fails.
type Claim struct {
	Precision Precision
	// Divergence, if above 0, is a limit of one's own for the mean divergence in nats, in
	// the place of the table's: such as twice that of a serving that is trusted.
	Divergence float64
}

// limits returns what the claim allows; a claim of nothing allows the coarsest.
func (c Claim) limits() limits {
	l := precisions[len(precisions)-1].limits
	if !c.Precision.IsZero() {
		l = c.Precision.limits()
	}
	if c.Divergence > 0 {
		l.divergence, l.source = c.Divergence, "a limit of your own"
	}
	return l
}

// leastPositions is how many positions it takes to call a comparison passed.
const leastPositions = 50

// implausible is the distance in nats from which on a token is no near miss: numeric noise
// exchanges neighbours.
const implausible = 2.0

// within reports whether the means keep the limits; beyond whether the bounds of a mean
// leave them, so that it is not chance.
func (c Comparison) within(l limits) bool {
	return c.divergence.mean <= l.divergence && c.chosen.mean <= l.deviation && c.agreement.mean >= l.agreement
}

func (c Comparison) beyond(l limits) bool {
	return c.divergence.low > l.divergence || c.chosen.low > l.deviation || c.agreement.high < l.agreement
}

// Measured returns the finest precision whose limits the comparison keeps; false where it
// keeps none, or no log probabilities were compared.
func (c Comparison) Measured() (Precision, bool) {
	if c.positions == 0 {
		return Precision{}, false
	}
	for i, p := range precisions {
		if c.within(p.limits) {
			return Precision{i + 1}, true
		}
	}
	return Precision{}, false
}

// Judge says whether the target keeps what is claimed of it.
func (c Comparison) Judge(claim Claim) gates.Finding {
	v := c.tokens(claim)
	if calls := c.calls.verdict(); calls.status != 0 {
		v = v.and(calls)
	} else {
		v.summary += "; calls not compared: " + calls.summary
	}
	f := v.finding()
	for _, e := range c.evidence(claim) {
		f = f.With("%s", e)
	}
	return f.Under(gates.Reference)
}

// verdict is a finding in the making.
type verdict struct {
	status  gates.Status
	summary string
	causes  []string
}

func verdictOf(s gates.Status, format string, a ...any) verdict {
	return verdict{status: s, summary: fmt.Sprintf(format, a...)}
}

// and joins two verdicts: the worse of them leads.
func (v verdict) and(w verdict) verdict {
	if w.status > v.status { // passed < warned < skipped < failed
		v, w = w, v
	}
	v.summary += "; " + w.summary
	v.causes = append(v.causes, w.causes...)
	return v
}

func (v verdict) finding() gates.Finding {
	says := map[gates.Status]func(string, ...any) gates.Finding{
		gates.Passed: gates.Pass, gates.Warned: gates.Warn, gates.Skipped: gates.Skip, gates.Failed: gates.Fail,
	}[v.status]
	f := says("%s", v.summary)
	if len(v.causes) > 0 {
		f = f.Because(v.causes...)
	}
	return f
}

// tokens judges the answers.
func (c Comparison) tokens(claim Claim) verdict {
	var v verdict
	switch l := claim.limits(); {
	case len(c.silent) > 0:
		v = c.texted(claim, l)
	case c.positions == 0 && c.strange > 0:
		v = verdictOf(gates.Skipped, "the same texts come in tokens of other names: log probabilities cannot be compared")
	case c.positions == 0:
		v = verdictOf(gates.Skipped, "no position could be compared: %d hold no log probabilities that can be, the others no token with a text of its own", c.unusable)
	case c.gross() > max(1, c.allowedGross(claim)) && c.beyond(l):
		v = verdictOf(gates.Failed, "%s; %s, which is no rounding: %s", c.accusation(claim), c.grossly(), c.figures())
	case c.gross() > max(1, c.allowedGross(claim)):
		v = verdictOf(gates.Failed, "%s, which is no rounding: %s", c.grossly(), c.figures())
	case c.beyond(l):
		v = verdictOf(gates.Failed, "%s: %s", c.accusation(claim), c.figures())
	case c.positions < leastPositions:
		v = verdictOf(gates.Skipped, "only %d positions of %d prompts could be compared, want %d: %s", c.positions, c.prompts, leastPositions, c.figures())
	case !c.within(l):
		v = verdictOf(gates.Warned, "%s, though by no more than chance may make; ask more prompts: %s", c.accusation(claim), c.figures())
	case c.gross() > c.allowedGross(claim):
		v = verdictOf(gates.Warned, "%s: %s", c.grossly(), c.figures())
	case 10*c.unusable > c.positions:
		v = verdictOf(gates.Warned, "%d positions hold no log probabilities that can be; of the others: %s", c.unusable, c.figures())
	default:
		v = verdictOf(gates.Passed, "%s: %s", c.acquittal(claim), c.figures())
	}
	return c.templated(v)
}

// texted judges by the texts alone.
func (c Comparison) texted(claim Claim, l limits) verdict {
	who := strings.Join(c.silent, " and ")
	seen := fmt.Sprintf("%d of %d texts are equal, and about %.1f %% of the tokens up to the first difference", c.equalTexts, c.prompts, 100*c.byText.mean)
	if c.byText.high < l.agreement {
		return verdictOf(gates.Failed, "%s: %s, want %.0f %% (by text; %s reports no log probabilities)", c.accusation(claim), seen, 100*l.agreement, who)
	}
	return verdictOf(gates.Warned, "%s reports no log probabilities, so the precision cannot be told; by text: %s", who, seen).because([]string{
		"the engine has no log probabilities to offer", "it has, and a gateway before it drops them",
	})
}

// templated adds that the two read other prompts.
func (c Comparison) templated(v verdict) verdict {
	if len(c.templates) == 0 {
		return v
	}
	t := c.templates[0]
	v.summary = fmt.Sprintf("the same prompt is %d tokens to the target and %d to the reference, as are %d of %d; %s", t.target, t.reference, len(c.templates), c.prompts, v.summary)
	v.causes = append([]string{"another chat template, default system message or tokenizer: the models read different prompts, so nothing else can agree"}, v.causes...)
	v.status = max(v.status, gates.Warned)
	return v
}

func (c Comparison) accusation(claim Claim) string {
	measured, ok := c.Measured()
	like := "measures like nothing as fine as int4"
	if ok {
		like = "measures like " + measured.words()
	}
	if len(c.silent) > 0 {
		like = "says other things than the reference"
	}
	switch {
	case claim.Precision.IsZero() && claim.Divergence > 0:
		return fmt.Sprintf("the divergence is above your limit of %g and %s", claim.Divergence, like)
	case claim.Precision.IsZero():
		return like + ", which no precision explains"
	}
	return "declared " + claim.Precision.String() + ", " + like
}

func (c Comparison) acquittal(claim Claim) string {
	measured, _ := c.Measured()
	switch {
	case measured.IsZero():
		return "within the limit of your own"
	case claim.Precision.IsZero():
		return "no precision is declared; measures like " + measured.words()
	case measured.finerThan(claim.Precision):
		return "declared " + claim.Precision.String() + ", and finer than that: measures like " + measured.words()
	}
	return "measures like " + claim.Precision.String() + ", as declared"
}

// figures are the numbers in a line.
func (c Comparison) figures() string {
	return fmt.Sprintf("mean divergence %.2g nats (%.2g to %.2g), the same likeliest token at %.1f %% of %d positions, its log probability off by %.2g, at most %.2g",
		c.divergence.mean, c.divergence.low, c.divergence.high, 100*c.agreement.mean, c.positions, c.chosen.mean, c.chosenMax)
}

// gross counts the prompts in which the two part for more than noise.
func (c Comparison) gross() int {
	n := 0
	for _, f := range c.differing {
		if f.gap >= implausible {
			n++
		}
	}
	return n
}

func (c Comparison) grossly() string {
	return fmt.Sprintf("in %d of %d prompts each side chooses a token that the other holds for implausible (%g nats or more)", c.gross(), c.prompts, implausible)
}

// allowedGross returns how many such differences the claim allows, or what is measured
// where nothing is claimed.
func (c Comparison) allowedGross(claim Claim) int {
	p := claim.Precision
	if measured, ok := c.Measured(); p.IsZero() && ok {
		p = measured
	}
	l := precisions[len(precisions)-1].limits
	if !p.IsZero() {
		l = p.limits()
	}
	return int(l.gross * float64(c.prompts))
}

// verdict judges the calls; its status is 0 where they were not compared.
func (c CallComparison) verdict() verdict {
	switch {
	case c.asked == 0:
		return verdict{summary: "no prompts with tools were asked"}
	case c.asked < LeastCalls:
		return verdict{summary: fmt.Sprintf("only %d prompts with tools were answered, want %d", c.asked, LeastCalls)}
	case c.reference.calls == 0 && c.target.calls == 0:
		return verdict{summary: "the model makes no calls, on either side"}
	case c.reference.calls == 0:
		return verdict{summary: fmt.Sprintf("the reference makes no calls (the target makes %d)", c.target.calls)}
	}
	const sure, likely, slack = 0.01, 0.05, 0.03 // 3 points: what the official service of K2-Vendor-Verifier is off from itself
	trigger, schema := signTest(c.worse, c.better), signTest(c.validWorse, c.validBetter)
	dropped := c.selfF1-c.f1 > slack
	switch {
	case dropped && trigger < sure:
		return verdictOf(gates.Failed, "it calls tools where the reference does not, or does not where it does: %s", c.Figures()).because(callCauses)
	case schema < sure:
		return verdictOf(gates.Failed, "its calls are not valid where the reference's are: %s", c.Figures()).because(callCauses)
	case dropped && trigger < likely, schema < likely:
		return verdictOf(gates.Warned, "its tool calls differ from the reference's by more than the reference's own: %s", c.Figures()).because(callCauses)
	}
	return verdictOf(gates.Passed, "calls: %s", c.Figures())
}

var callCauses = []string{"another chat template or tool parser than the reference's", "other sampling parameters", "weights that are coarser than the reference's"}

func (v verdict) because(causes []string) verdict {
	v.causes = causes
	return v
}

// Figures are the numbers of the calls in a line.
func (c CallComparison) Figures() string {
	self := ""
	if c.again {
		self = fmt.Sprintf(", the reference against itself %.1f %%", 100*c.selfF1)
	}
	return fmt.Sprintf("trigger F1 %.1f %%%s; called %d of %d, the reference %d; valid %s, the reference %s",
		100*c.f1, self, c.target.calls, c.asked, c.reference.calls, c.target.validity(), c.reference.validity())
}

func (r callRates) validity() string {
	if r.calls == 0 {
		return "none"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(r.valid)/float64(r.calls))
}
