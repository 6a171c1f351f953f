// Package gguftest writes small GGUF files for tests, from a description in JSON. The
// layout is that of the format's specification and was compared with what gguf-py
// writes.
package gguftest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

// A Spec describes a file.
type Spec struct {
	// Version is the format's version, 3 when 0.
	Version uint32 `json:"version"`
	// Meta are the keys in order: pairs of a key and a value. Whole numbers become
	// u32, others f32, lists arrays of i32, f32 or texts.
	Meta [][2]any `json:"meta"`
	// Tensors are the tensors in order.
	Tensors []Tensor `json:"tensors"`
	// Cut is how many bytes of the weights are left out at the end.
	Cut int64 `json:"cut"`
}

// A Tensor has a shape whose fastest dimension comes last, as everywhere in this
// project, and a type by its number. Shift moves its offset in bytes.
type Tensor struct {
	Name  string  `json:"name"`
	Shape []int64 `json:"shape"`
	Type  uint32  `json:"type"`
	Bytes int64   `json:"bytes"`
	Shift int64   `json:"shift"`
}

const align = 32

// Parse reads a description and returns the file.
func Parse(text []byte) ([]byte, error) {
	var s Spec
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, err
	}
	return s.File()
}

// File returns the file.
func (s Spec) File() ([]byte, error) {
	le := binary.LittleEndian
	version := s.Version
	if version == 0 {
		version = 3
	}
	b := le.AppendUint32([]byte("GGUF"), version)
	b = le.AppendUint64(b, uint64(len(s.Tensors)))
	b = le.AppendUint64(b, uint64(len(s.Meta)))
	for _, kv := range s.Meta {
		key, ok := kv[0].(string)
		if !ok {
			return nil, fmt.Errorf("the key %v is no text", kv[0])
		}
		var err error
		if b, err = value(putText(b, key), kv[1]); err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
	}
	var at int64
	for _, t := range s.Tensors {
		b = putText(b, t.Name)
		b = le.AppendUint32(b, uint32(len(t.Shape)))
		values := int64(1)
		for i := range t.Shape {
			d := t.Shape[len(t.Shape)-1-i]
			values *= d
			b = le.AppendUint64(b, uint64(d))
		}
		b = le.AppendUint32(b, t.Type)
		b = le.AppendUint64(b, uint64(at+t.Shift))
		size := t.Bytes
		if size == 0 { // F32 unless told otherwise
			size = 4 * values
		}
		at += pad(size)
	}
	b = append(b, make([]byte, pad(int64(len(b)))-int64(len(b)))...)
	return append(b, make([]byte, max(at-s.Cut, 0))...), nil
}

func pad(n int64) int64 { return (n + align - 1) / align * align }

func putText(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}

const (
	typeU32, typeI32, typeF32, typeBool, typeText, typeArray = 4, 5, 6, 7, 8, 9
)

func value(b []byte, v any) ([]byte, error) {
	le := binary.LittleEndian
	switch v := v.(type) {
	case string:
		return putText(le.AppendUint32(b, typeText), v), nil
	case bool:
		n := byte(0)
		if v {
			n = 1
		}
		return append(le.AppendUint32(b, typeBool), n), nil
	case float64:
		if v == math.Trunc(v) && v >= 0 {
			return le.AppendUint32(le.AppendUint32(b, typeU32), uint32(v)), nil
		}
		return le.AppendUint32(le.AppendUint32(b, typeF32), math.Float32bits(float32(v))), nil
	case []any:
		b = le.AppendUint32(b, typeArray)
		_, texts := first(v).(string)
		kind := uint32(typeI32)
		if texts {
			kind = typeText
		}
		b = le.AppendUint64(le.AppendUint32(b, kind), uint64(len(v)))
		for _, e := range v {
			switch e := e.(type) {
			case string:
				b = putText(b, e)
			case float64:
				b = le.AppendUint32(b, uint32(int32(e)))
			default:
				return nil, fmt.Errorf("an array of %T", e)
			}
		}
		return b, nil
	}
	return nil, fmt.Errorf("a value of %T", v)
}

func first(list []any) any {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}
