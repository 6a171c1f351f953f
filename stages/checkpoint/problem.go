package checkpoint

import "fmt"

// Flaw is a kind of defect in a file.
type Flaw uint8

// The flaws. The first group is about any file, the second about JSON documents,
// the third about the container of tensors.
const (
	FlawNone       Flaw = iota
	FlawPointer         // a Git LFS pointer stands in the file's place
	FlawUnreadable      // it exists and cannot be read
	FlawTooLarge        // larger than any sound file of its kind

	FlawSyntax    // not JSON, or not UTF-8
	FlawTooDeep   // nested deeper than any sound document
	FlawTrailing  // more text after the document
	FlawShape     // JSON, but not of the form that the file must have
	FlawDuplicate // a name twice in one object

	FlawLength    // a header length that cannot be
	FlawMetadata  // __metadata__ that is not text to text
	FlawDtype     // an unknown dtype
	FlawSize      // offsets that do not fit dtype and shape
	FlawHole      // bytes that belong to no tensor
	FlawOverlap   // bytes that belong to two tensors
	FlawTruncated // the file ends before its last tensor
	FlawSurplus   // the file goes on after its last tensor
	numFlaws
)

// A Problem is one defect: its kind, the tensor or key concerned ("" when there
// is none), and what was seen. Texts may hold what the file held: they are
// untrusted.
type Problem struct {
	Flaw   Flaw
	Name   string
	Detail string
}

// String returns the problem in one line.
func (p Problem) String() string {
	if p.Name == "" {
		return p.Detail
	}
	return p.Name + ": " + p.Detail
}

// problemsKept bounds how many problems of one kind are kept word by word; a
// hostile file can have one for each of its bytes. All are counted.
const problemsKept = 16

// problems collects what is wrong with one file.
type problems struct {
	list  []Problem
	count [numFlaws]int
}

func (p *problems) add(f Flaw, name, format string, a ...any) {
	p.count[f]++
	if p.count[f] <= problemsKept {
		p.list = append(p.list, Problem{f, name, fmt.Sprintf(format, a...)})
	}
}

func (p *problems) of(flaws []Flaw) (list []Problem, n int) {
	for _, f := range flaws {
		n += p.count[f]
		for _, q := range p.list {
			if q.Flaw == f {
				list = append(list, q)
			}
		}
	}
	return list, n
}
