package gates

import "fmt"

// Condition is what has to be added to a question put short, cold and alone before a
// server answers it wrongly: the first thing to know of a failure, since it names the
// part of the engine to look at. The zero Condition says that it was not told apart.
type Condition uint8

// The conditions, in the order in which they are told apart.
const (
	_         Condition = iota
	Alone               // nothing: short, cold and alone it is wrong too
	Depth               // a long prompt
	Company             // other requests beside it
	Cache               // a prompt whose beginning was seen before
	Time                // requests or hours that went before it
	Reference           // nothing here: another server of the same weights differs
)

var conditionNames = [...]string{"", "alone", "depth", "company", "cache", "time", "reference"}

var conditionWords = [...]string{
	"", "short, cold and alone", "at depth", "in company", "on a warm cache", "after some requests or time", "against the reference",
}

// Conditions returns the conditions in order.
func Conditions() []Condition { return []Condition{Alone, Depth, Company, Cache, Time, Reference} }

// String returns the condition as written in records, "" for the zero Condition.
func (c Condition) String() string {
	if int(c) >= len(conditionNames) {
		return fmt.Sprintf("condition %d", uint8(c))
	}
	return conditionNames[c]
}

// Words returns the condition as a reader sees it, "" for the zero Condition.
func (c Condition) Words() string {
	if int(c) >= len(conditionWords) {
		return c.String()
	}
	return conditionWords[c]
}

// MarshalText writes [Condition.String].
func (c Condition) MarshalText() ([]byte, error) {
	if int(c) >= len(conditionNames) {
		return nil, fmt.Errorf("condition %d has no text form", uint8(c))
	}
	return []byte(conditionNames[c]), nil
}

// UnmarshalText accepts exactly the known names.
func (c *Condition) UnmarshalText(b []byte) error {
	for i, n := range conditionNames {
		if n == string(b) {
			*c = Condition(i)
			return nil
		}
	}
	return fmt.Errorf("unknown condition %s", Quote(string(b), 40))
}

// ConditionOf returns the condition that most of the failed verdicts name, or of the warned
// ones where none failed; of equals the one that is told apart first. It is 0 where no verdict
// names any.
func ConditionOf(verdicts []Verdict) Condition {
	for _, status := range []Status{Failed, Warned} {
		votes := map[Condition]int{}
		failed := false
		for _, v := range verdicts {
			if v.Status() == status {
				failed = true
				votes[v.Condition()]++
			}
		}
		best := Condition(0)
		for _, c := range Conditions() {
			if votes[c] > 0 && (best == 0 || votes[c] > votes[best]) {
				best = c
			}
		}
		if best != 0 || failed {
			return best
		}
	}
	return 0
}
