package evidence

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"infbench/gates"
	"infbench/internal/lists"
)

// maxDocument bounds a bundle without its compression: what is read, and what is written.
// maxLedger bounds the part of it that is not the exchanges.
const (
	maxDocument = 64 << 20
	maxLedger   = 256 << 10
)

// Write writes the bundle, compressed.
func (b Bundle) Write(w io.Writer) error {
	head, exchanges, err := b.encode()
	if err != nil {
		return err
	}
	z := gzip.NewWriter(w)
	if _, err := z.Write(head); err != nil {
		return err
	}
	// So that a torn file can be told from somebody else's.
	if err := z.Flush(); err != nil {
		return err
	}
	between := []byte("")
	for _, x := range exchanges {
		if _, err := z.Write(append(between, x...)); err != nil {
			return err
		}
		between = []byte(",\n")
	}
	if _, err := z.Write([]byte("]}\n")); err != nil {
		return err
	}
	return z.Close()
}

// JSON returns the bundle as it is written, without the compression.
func (b Bundle) JSON() ([]byte, error) {
	head, exchanges, err := b.encode()
	if err != nil {
		return nil, err
	}
	return append(append(head, bytes.Join(exchanges, []byte(",\n"))...), "]}\n"...), nil
}

// encode returns the document in pieces: all up to the exchanges, and those for which
// there is room.
func (b Bundle) encode() (head []byte, exchanges [][]byte, err error) {
	if b.IsZero() {
		return nil, nil, errors.New("a bundle that is none is not written")
	}
	kept, exchanges, err := fitting(b.exchanges, maxDocument-2*maxLedger)
	if err != nil {
		return nil, nil, err
	}
	if kept == 0 {
		return nil, nil, ErrNothing
	}
	ledger, err := marshal(b.ledger)
	if err != nil {
		return nil, nil, err
	}
	head, err = marshal(bundleWire{
		Schema: Schema, Run: b.run, Command: b.command, Harness: b.harness, Written: b.written, Model: text(b.model), Ledger: ledger,
		Dropped: b.dropped + len(b.exchanges) - kept,
	})
	return append(bytes.TrimSuffix(head, []byte("}")), `,"exchanges":[`+"\n"...), exchanges, err
}

// fitting writes the exchanges, those in the middle left out where they do not fit. They
// are numbered anew where that happens.
func fitting(list []Exchange, room int) (kept int, out [][]byte, err error) {
	var front, back []Exchange
	half := room / 2
	size := func(x Exchange) (int, error) {
		b, err := encoded(x)
		return max(len(b), x.size()) + 2, err
	}
	take := func(x Exchange, to *[]Exchange, left *int) bool {
		n, failed := size(x)
		if err = errors.Join(err, failed); *left < n {
			return false
		}
		*left -= n
		*to = append(*to, x)
		return true
	}
	left := half
	for len(front) < len(list) && take(list[len(front)], &front, &left) {
	}
	left = half
	for len(front)+len(back) < len(list) && take(list[len(list)-1-len(back)], &back, &left) {
	}
	for i := len(back) - 1; i >= 0; i-- {
		front = append(front, back[i])
	}
	for i, x := range front {
		x.Number = i + 1
		b, failed := encoded(x)
		err = errors.Join(err, failed)
		out = append(out, b)
	}
	return len(front), out, err
}

func encoded(x Exchange) ([]byte, error) {
	w, err := x.wire()
	if err != nil {
		return nil, err
	}
	return marshal(w)
}

// Open reads the bundle in a file. The error is one line that names the file.
func Open(path string) (Bundle, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return Bundle{}, fmt.Errorf("evidence: %w", err)
	case !info.Mode().IsRegular():
		return Bundle{}, fmt.Errorf("evidence: %s is no regular file", gates.Printable(path, 200))
	}
	f, err := os.Open(path)
	if err != nil {
		return Bundle{}, fmt.Errorf("evidence: %w", err)
	}
	defer func() { _ = f.Close() }()
	b, err := Read(f)
	if err != nil {
		return Bundle{}, fmt.Errorf("evidence: %s: %w", gates.Printable(path, 200), err)
	}
	return b, nil
}

// Read reads a bundle. What it takes is bounded whatever the file holds.
func Read(r io.Reader) (Bundle, error) {
	z, err := gzip.NewReader(bufio.NewReader(io.LimitReader(r, maxDocument)))
	if err != nil {
		return Bundle{}, errors.New("not a compressed file (.json.gz), as infbench writes them")
	}
	doc, err := io.ReadAll(io.LimitReader(z, maxDocument+1))
	switch {
	case len(doc) > maxDocument:
		return Bundle{}, errors.New("larger than any bundle")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return Bundle{}, errors.New("torn: the file ends inside it")
	case err != nil:
		return Bundle{}, fmt.Errorf("damaged: %v", err) //nolint:errorlint // the kind of damage is no matter
	}
	return Parse(doc)
}

// Parse reads a bundle that is not compressed.
func Parse(doc []byte) (Bundle, error) {
	var w bundleWire
	err := json.Unmarshal(doc, &w)
	switch {
	case w.Schema != "" && w.Schema != Schema:
		return Bundle{}, fmt.Errorf("its schema is %s, and this infbench reads %s", gates.Quote(w.Schema, 60), Schema)
	case err != nil:
		return Bundle{}, fmt.Errorf("not a bundle of evidence: %s", gates.Printable(err.Error(), 200))
	case w.Schema == "":
		return Bundle{}, errors.New("not a bundle of evidence: it names no schema")
	case len(w.Ledger) > maxLedger:
		return Bundle{}, errors.New("its verdict is larger than any")
	}
	b, err := w.bundle()
	if err != nil {
		return Bundle{}, fmt.Errorf("a broken bundle: %s", gates.Printable(err.Error(), 200))
	}
	return b, nil
}

func (w bundleWire) bundle() (Bundle, error) {
	var ledger gates.Ledger
	if err := json.Unmarshal(w.Ledger, &ledger); err != nil {
		return Bundle{}, err
	}
	p := Parts{Run: w.Run, Command: w.Command, Harness: w.Harness, Written: w.Written, Model: string(w.Model), Dropped: w.Dropped}
	room := maxDocument
	var err error
	p.Exchanges, err = lists.Read(w.Exchanges, maxExchanges, func(x exchangeWire) (Exchange, error) {
		out, err := x.exchange()
		if room -= out.size(); room < 0 {
			err = errors.New("its exchanges take more memory than any bundle's")
		}
		return out, err
	})
	if err != nil {
		return Bundle{}, err
	}
	return bundleOf(p, ledger)
}
