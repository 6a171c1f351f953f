package baseline

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"testing"

	"github.com/gowebpki/jcs"
)

// The digests were worked out with another implementation of RFC 8785 and SHA-256.
func TestHashesOfSuites(t *testing.T) {
	t.Parallel()
	s, err := NewSuite("three", FrozenSeed, 5, Depth{8192, 512}, Depth{16384, 1024}, Depth{32768, 2048})
	if err != nil {
		t.Fatal(err)
	}
	const plain = `{"concurrency":1,"depths":[{"max_tokens":512,"prompt_tokens":8192},{"max_tokens":1024,"prompt_tokens":16384},{"max_tokens":2048,"prompt_tokens":32768}],"generator":"wordlist-sha256-ctr/1","repeats":5,"schema":"infbench.workload/v1","seed":"infbench-frozen-v1","temperature_milli":0}`
	if got := string(s.Canonical()); got != plain {
		t.Errorf("canonical form\n%s, want\n%s", got, plain)
	}
	if got := s.Hash(); got != "sha256:dd38819e353325044034513da0df9171f2ca5038bc3d03db03aba84a9d694720" {
		t.Errorf("hash %s", got)
	}
	back, err := ParseSuite("three", s.Canonical())
	if err != nil || back.Hash() != s.Hash() {
		t.Errorf("read back: %v, %v", back, err)
	}
}

func TestCanonicalJSONIsThatOfTheRFC(t *testing.T) {
	t.Parallel()
	got, err := jcs.Transform([]byte(`{"b":1,"a":"<&>\u2028é","c":[true,null]}`))
	if err != nil {
		t.Fatal(err)
	}
	want, _ := hex.DecodeString("7b2261223a223c263ee280a8c3a9222c2262223a312c2263223a5b747275652c6e756c6c5d7d")
	if !bytes.Equal(got, want) {
		t.Errorf("%s", got)
	}
	if d := digest(got); d != "sha256:8b7c93d6900cd1a157ca1ce1a9087dcb67ec3512693561ffc55cb7daea0a01e8" {
		t.Errorf("digest %s", d)
	}
}

func TestNumbersFromASeed(t *testing.T) {
	t.Parallel()
	for seed, want := range map[string][]int{
		FrozenSeed:                     {1316, 92, 521, 488, 950, 1552, 1081, 1264, 1186, 1786, 1531, 801, 1460, 1237, 1642, 1627, 869, 873, 1176, 1005},
		nonceSeed(FrozenSeed, 8192, 0): {1244, 1736, 457, 488, 1263, 206, 1624, 1365},
		nonceSeed(FrozenSeed, 8192, 1): {369, 2, 80, 1495, 1390, 1395, 219, 626},
	} {
		d := newDraw(seed)
		var got []int
		for range want {
			got = append(got, d.next())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", seed, got, want)
		}
	}
}

func TestTheWordsAreUnlikeEachOther(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, w := range wordList {
		if w == "" || seen[w] {
			t.Fatalf("%q stands twice", w)
		}
		seen[w] = true
	}
}

func TestScaledSuites(t *testing.T) {
	t.Parallel()
	for context, want := range map[int]string{
		1 << 17: "standard [{256 128} {2048 256} {8192 512} {16384 1024} {32768 2048}]",
		16384:   "standard/4 [{64 32} {512 64} {2048 128} {4096 256} {8192 512}]",
		4096:    "standard/16 [{128 16} {512 32} {1024 64} {2048 128}]",
	} {
		s, err := Scaled(context)
		if got := fmt.Sprint(s.Name(), " ", s.Depths()); err != nil || got != want {
			t.Errorf("context %d: %s, %v, want %s", context, got, err, want)
		}
		if s.Hash() == Standard().Hash() && context < 1<<17 {
			t.Errorf("context %d: the hash is that of the whole suite", context)
		}
	}
	if _, err := Scaled(100); err == nil {
		t.Error("a context of 100 tokens holds a suite")
	}
}

func FuzzParseSuite(f *testing.F) {
	f.Add(Standard().Canonical())
	f.Add([]byte(`{"concurrency":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := ParseSuite("x", b)
		if err == nil && !bytes.Equal(s.Canonical(), b) {
			t.Errorf("%s is read as %s", b, s.Canonical())
		}
	})
}
