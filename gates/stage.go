package gates

import (
	"fmt"
	"strings"
)

// Stage is one of the five stages, cheapest first. The zero value is [Static].
type Stage uint8

// The stages in the order in which they run.
const (
	Static      Stage = iota // 0: the files of a checkpoint
	Hardware                 // 1: the device and the kernels
	Smoke                    // 2: every output channel, in seconds
	Correctness              // 3: at length, in company, over time
	Performance              // 4: how fast
)

var stageNames = [...]string{"static", "hardware", "smoke", "correctness", "performance"}

// Stages returns all stages, cheapest first.
func Stages() []Stage {
	return []Stage{Static, Hardware, Smoke, Correctness, Performance}
}

// Number returns the stage's place in the order, 0 to 4.
func (s Stage) Number() int { return int(s) }

// String returns the stage's name, which is also the prefix of its check ids.
func (s Stage) String() string {
	if int(s) < len(stageNames) {
		return stageNames[s]
	}
	return fmt.Sprintf("stage(%d)", uint8(s))
}

// StageOf returns the stage that a check id such as "smoke/known-answer"
// belongs to, or an error when the id has no such form.
func StageOf(checkID string) (Stage, error) {
	prefix, name, ok := strings.Cut(checkID, "/")
	if ok && wellFormedName(name) {
		for i, n := range stageNames {
			if n == prefix {
				return Stage(i), nil
			}
		}
	}
	return 0, fmt.Errorf("check id %s: want stage/name with one of the stages %s", Quote(checkID, 60), strings.Join(stageNames[:], ", "))
}

// wellFormedName reports whether a check's name is made of lower-case letters,
// digits and the separators - . _ inside it.
func wellFormedName(name string) bool {
	if name == "" || len(name) > 60 {
		return false
	}
	for i, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= '0' && r <= '9'
		inner := (r == '-' || r == '.' || r == '_') && i > 0 && i < len(name)-1
		if !letter && !inner {
			return false
		}
	}
	return true
}
