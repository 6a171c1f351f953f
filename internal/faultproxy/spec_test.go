package faultproxy_test

import (
	"net/url"
	"strings"
	"testing"

	"infbench/internal/faultproxy"
)

func TestSpecsThatAreRefused(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{
		"one-tokn":                `there is no fault "one-tokn"; nearest is "one-token"`,
		"":                        `there is no fault ""`,
		"markers:abov=3":          `there is no parameter "abov"; nearest is "above"`,
		"slow-first:dely=1s":      `nearest is "delay"`,
		"markers:above":           "not of the form param=value",
		"markers:":                "not of the form param=value",
		"markers:above=x":         "want a whole number",
		"markers:above=-1":        "not negative",
		"slow-first:delay=3":      "want a duration",
		"markers:warm=2":          "want one of 0, 1",
		"markers:after=1,after=2": "given twice",
	} {
		_, err := faultproxy.ForHandler(fake{}, []string{"no-done", spec}, 1)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", spec, err, want)
		}
	}
	_, err := faultproxy.ForHandler(fake{}, []string{"a-b", "markers:x=1"}, 1)
	if err == nil || strings.Count(err.Error(), "\n") != 1 {
		t.Errorf("not all complaints at once: %v", err)
	}
}

func TestSpecsThatAreRead(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{" markers : above = 3 , warm = 1", "slow-first:delay=1.5s,stream=0", "reject"} {
		if _, err := faultproxy.ForHandler(fake{}, []string{strings.Replace(spec, " :", ":", 1)}, 1); err != nil {
			t.Errorf("%q: %v", spec, err)
		}
	}
}

func TestUpstreamsThatAreRefused(t *testing.T) {
	t.Parallel()
	if _, err := faultproxy.ForHandler(nil, nil, 1); err == nil {
		t.Error("no handler was accepted")
	}
	for _, u := range []*url.URL{nil, {}, {Scheme: "ftp", Host: "x"}, {Scheme: "http"}} {
		if _, err := faultproxy.ForURL(u, nil, 1); err == nil {
			t.Errorf("%v was accepted", u)
		}
	}
}

// The list is for documentation; what a caller does to it stays with the caller.
func TestFaultsIsACopy(t *testing.T) {
	t.Parallel()
	for _, f := range faultproxy.Faults() {
		for i := range f.Modes {
			f.Modes[i] = ""
		}
		for i := range f.Params {
			f.Params[i].Name = ""
		}
	}
	for _, f := range faultproxy.Faults() {
		for _, m := range f.Modes {
			if m == "" {
				t.Errorf("%s lost a mode", f.ID)
			}
		}
		for _, p := range f.Params {
			if p.Name == "" || p.Default == "" || p.Doc == "" {
				t.Errorf("%s: parameter %+v", f.ID, p)
			}
		}
	}
}
