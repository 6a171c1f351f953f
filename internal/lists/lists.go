// Package lists reads the lists of a JSON document from elsewhere within a bound.
//
// The one rule: how many entries are taken is stated before any is: "{}," is three bytes in
// a file and hundreds in memory.
package lists

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// List is a list as it stands in a document: not read yet by [Read], or ready to be written.
type List[T any] struct {
	raw json.RawMessage
}

// Of returns the list of some items as it is written, without escapes for HTML. That of no
// items is zero, which is left out.
func Of[T any](items []T) (List[T], error) {
	if len(items) == 0 {
		return List[T]{}, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(items)
	return List[T]{bytes.TrimSuffix(b.Bytes(), []byte("\n"))}, err
}

// MarshalJSON writes the list, null for one of no items that is not left out, such as a list
// within a list.
func (l List[T]) MarshalJSON() ([]byte, error) {
	if l.raw == nil {
		return []byte("null"), nil
	}
	return l.raw, nil
}

// UnmarshalJSON keeps the list unread.
func (l *List[T]) UnmarshalJSON(b []byte) error {
	l.raw = append(json.RawMessage(nil), b...)
	return nil
}

// IsZero says that there is nothing to write.
func (l List[T]) IsZero() bool { return l.raw == nil }

// Null says that a null stands in the place of the list, or nothing.
func (l List[T]) Null() bool { return l.raw == nil || string(l.raw) == "null" }

// Read reads a list, at most so many entries of it, and turns each into another.
func Read[A, B any](l List[B], most int, turn func(B) (A, error)) ([]A, error) {
	if l.Null() {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(l.raw))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, errors.New("no list where one is due")
	}
	var out []A
	for d.More() {
		if len(out) == most {
			return nil, fmt.Errorf("a list of more than %d entries", most)
		}
		var item B
		if err := d.Decode(&item); err != nil {
			return nil, err
		}
		a, err := turn(item)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}
