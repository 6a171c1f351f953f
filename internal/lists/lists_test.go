package lists

import (
	"encoding/json"
	"slices"
	"testing"
)

type doc struct {
	List List[int] `json:"list,omitzero"`
}

func same(n int) (int, error) { return n, nil }

func TestRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		items []int
		err   string
	}{
		`{}`:                 {nil, ""},
		`{"list":null}`:      {nil, ""},
		`{"list":[]}`:        {nil, ""},
		`{"list":[1, 2,3]}`:  {[]int{1, 2, 3}, ""},
		`{"list":[1,2,3,4]}`: {nil, "a list of more than 3 entries"},
		`{"list":{"a":1}}`:   {nil, "no list where one is due"},
		`{"list":7}`:         {nil, "no list where one is due"},
		`{"list":["a"]}`:     {nil, "json: cannot unmarshal string into Go value of type int"},
	} {
		var d doc
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		got, err := Read(d.List, 3, same)
		said := ""
		if err != nil {
			said = err.Error()
		}
		if !slices.Equal(got, want.items) || said != want.err {
			t.Errorf("%s: %v, %q", text, got, said)
		}
	}
}

func TestOf(t *testing.T) {
	t.Parallel()
	for want, items := range map[string][]int{`{}`: nil, `{"list":[1,2]}`: {1, 2}} {
		l, err := Of(items)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(doc{l}); err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
	if got, err := json.Marshal([]List[int]{{}, {raw: []byte("[1]")}}); err != nil || string(got) != "[null,[1]]" {
		t.Errorf("lists within a list: %s, %v", got, err)
	}
	if l, err := Of([]string{"<"}); err != nil || string(l.raw) != `["<"]` {
		t.Errorf("%s, %v", l.raw, err)
	}
}
