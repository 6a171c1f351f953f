package power

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"infbench/gates"
)

func TestWhatToolsPrint(t *testing.T) {
	t.Parallel()
	n, none := gates.CountOf, gates.Count{}
	for name, c := range map[string]struct {
		parse func(string) (Reading, error)
		text  string
		want  Reading
	}{
		"two of NVIDIA's": {parseNvidia, "75.12, 1024\n120.50, 2048\n", Reading{2, n(195_620), none, n(3072 << 20)}},
		"unified memory":  {parseNvidia, "11.20, [N/A]\n", Reading{1, n(11_200), none, none}},
		"no sensor":       {parseNvidia, "[Not Supported], 512\n", Reading{}},
		"one without":     {parseNvidia, "75.12, 1024\n[Unknown Error], 2048\n", Reading{}},
		"a message":       {parseNvidia, "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", Reading{}},
		"nothing":         {parseNvidia, "", Reading{}},
		"no numbers":      {parseNvidia, "NaN, 5\n", Reading{}},
		"below 0":         {parseNvidia, "-5, 5\n", Reading{}},
		"a power station": {parseNvidia, "1e9, 5\n", Reading{}},
		"two of AMD's": {parseROCm, `WARNING: AMD GPU device(s) is/are in a low-power state.
{"card0": {"Average Graphics Package Power (W)": "35.0", "VRAM Total Memory (B)": "68702699520", "VRAM Total Used Memory (B)": "10960896"},
"card1": {"Current Socket Graphics Package Power (W)": "140.0", "VRAM Total Memory (B)": "68702699520", "VRAM Total Used Memory (B)": "1000"}, "system": {"Driver version": "6.8"}}`, Reading{2, n(175_000), none, n(10_961_896)}},
		"AMD without power": {parseROCm, `{"card0": {"VRAM Total Used Memory (B)": "10960896"}}`, Reading{}},
		"AMD's N/A":         {parseROCm, `{"card0": {"Average Graphics Package Power (W)": "N/A"}}`, Reading{}},
		"no JSON":           {parseROCm, "ERROR: no device {", Reading{}},
		"DCGM": {func(s string) (Reading, error) { return parseDCGM([]byte(s)) }, `# TYPE DCGM_FI_DEV_POWER_USAGE gauge
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-a",Hostname="h"} 100.5
DCGM_FI_DEV_POWER_USAGE{gpu="1",UUID="GPU-b",Hostname="h"} 200
# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION counter
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="0",Hostname="h"} 1000
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="1",Hostname="h"} 500
DCGM_FI_DEV_FB_USED{gpu="0",Hostname="h"} 10
DCGM_FI_DEV_FB_USED{gpu="1",Hostname="h"} 20
`, Reading{2, n(300_500), n(1500), n(30 << 20)}},
		"DCGM of a device in parts": {func(s string) (Reading, error) { return parseDCGM([]byte(s)) }, `DCGM_FI_DEV_POWER_USAGE{gpu="0",GPU_I_ID="1"} 100
DCGM_FI_DEV_POWER_USAGE{gpu="0",GPU_I_ID="2"} 100
DCGM_FI_DEV_FB_USED{gpu="0",GPU_I_ID="1"} 10
DCGM_FI_DEV_FB_USED{gpu="0",GPU_I_ID="2"} 5
`, Reading{1, n(100_000), none, n(15 << 20)}},
		"DCGM without power": {func(s string) (Reading, error) { return parseDCGM([]byte(s)) }, "DCGM_FI_DEV_FB_USED{gpu=\"0\"} 10\n", Reading{}},
	} {
		got, err := c.parse(c.text)
		if got != c.want || (err != nil) != (c.want == Reading{}) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
}

func TestLocalFindsTheToolThatTells(t *testing.T) {
	t.Parallel()
	missing := errors.New("not found")
	for name, c := range map[string]struct {
		printed map[string]string
		want    string
	}{
		"NVIDIA's": {map[string]string{"nvidia-smi": "75.12, 1024\n", "rocm-smi": "{}"}, "nvidia-smi"},
		"AMD's":    {map[string]string{"nvidia-smi": "No devices were found\n", "rocm-smi": `{"card0":{"Average Graphics Package Power (W)":"35"}}`}, "rocm-smi"},
		"none":     {nil, ""},
	} {
		run := func(_ context.Context, name string, _ ...string) (string, error) {
			if text, ok := c.printed[name]; ok {
				return text, nil
			}
			return "", missing
		}
		s, err := Local(t.Context(), run)
		if s.By != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s: %q, %v", name, s.By, err)
		}
		if err != nil && !errors.Is(err, ErrNone) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDCGMPage(t *testing.T) {
	t.Parallel()
	answer := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			http.Redirect(w, r, "/metrics", http.StatusFound)
			return
		}
		_, _ = w.Write([]byte("DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 70\n"))
	}
	srv := httptest.NewServer(http.HandlerFunc(answer))
	defer srv.Close()
	read := func(address string) (Reading, error) {
		s, err := DCGM(address)
		if err != nil {
			t.Fatal(err)
		}
		return s.Read(t.Context())
	}
	if r, err := read(srv.URL); err != nil || r.Milliwatts != gates.CountOf(70_000) {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := read(srv.URL + "/elsewhere"); err == nil || !strings.Contains(err.Error(), "302") {
		t.Errorf("a redirect is followed: %v", err)
	}
	srv.Close()
	if _, err := read(srv.URL); err == nil || strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("nobody there: %v", err)
	}
	for _, bad := range []string{"", "9400", "file:///etc/passwd", "http://", "http://user:key@host/metrics"} {
		if _, err := DCGM(bad); err == nil {
			t.Errorf("%q is an address", bad)
		}
	}
}

// Whatever is printed, no reading is below 0 or more than a room of devices.
func FuzzReadings(f *testing.F) {
	f.Add("75.12, 1024\n")
	f.Add(`{"card0":{"Average Graphics Package Power (W)":"35"}}`)
	f.Add("DCGM_FI_DEV_POWER_USAGE{gpu=\"0\"} 70\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, parse := range []func(string) (Reading, error){parseNvidia, parseROCm, func(s string) (Reading, error) { return parseDCGM([]byte(s)) }} {
			r, err := parse(text)
			if w := r.Milliwatts.Or(0); w < 0 || w > mostWatts*1000*max(1, r.Devices) || err != nil && r.Devices != 0 {
				t.Errorf("%+v, %v", r, err)
			}
			if m := r.MemoryBytes.Or(0); m < 0 {
				t.Errorf("%+v", r)
			}
		}
	})
}
