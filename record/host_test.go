package record_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"infbench/record"
	"infbench/record/recordtest"
)

func TestHostInOneLine(t *testing.T) {
	t.Parallel()
	unified := record.HostParts{
		Target: record.NoTarget, CPU: record.HostCPU{Arch: "aarch64", Cores: 1}, OS: "Linux", Kernel: "Linux 6.11",
		Memory:       record.HostMemory{TotalBytes: 120 << 30, Model: record.Unified},
		Accelerators: []record.Accelerator{{Name: "NVIDIA GB10", Arch: "sm_121", Count: 1, Unified: true}},
	}
	h, err := record.NewHost(unified)
	if err != nil {
		t.Fatal(err)
	}
	for got, want := range map[string]string{
		recordtest.Host().String(): "a processor, 224 logical cores, 2048 GiB, Ubuntu 22.04, Linux 5.15.0-1063-nvidia; 8 × NVIDIA H100 80GB HBM3 (sm_90, 80 GiB)",
		h.String():                 "aarch64, 1 logical core, 120 GiB unified, Linux 6.11; NVIDIA GB10 (sm_121)",
		record.Host{}.String():     "not looked at",
	} {
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// A host that cannot be is none.
func TestHostsThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*record.HostParts){
		"VRAM on unified memory":         func(p *record.HostParts) { p.Memory.Model = record.Unified },
		"VRAM of one that shares memory": func(p *record.HostParts) { p.Accelerators[0].Unified = true },
		"no accelerator that is counted": func(p *record.HostParts) { p.Accelerators[0].Count = 0 },
		"an accelerator without a name":  func(p *record.HostParts) { p.Accelerators[0].Name = "" },
		"no place":                       func(p *record.HostParts) { p.Target = "" },
		"another place":                  func(p *record.HostParts) { p.Target = "somewhere" },
		"no memory model":                func(p *record.HostParts) { p.Memory.Model = "" },
		"no architecture":                func(p *record.HostParts) { p.CPU.Arch = "" },
		"an architecture with a path":    func(p *record.HostParts) { p.CPU.Arch = "/home/x" },
		"an image that is no digest":     func(p *record.HostParts) { p.Engine.Image = "registry/x:latest" },
		"negative memory":                func(p *record.HostParts) { p.Memory.TotalBytes = -1 },
		"more kinds than a machine has":  func(p *record.HostParts) { p.Accelerators = make([]record.Accelerator, 17) },
	} {
		p := recordtest.Host().Parts()
		change(&p)
		if h, err := record.NewHost(p); err == nil || !h.IsZero() {
			t.Errorf("%s: made %s", name, h)
		}
	}
	if b, err := json.Marshal(record.Host{}); err == nil {
		t.Errorf("a host that was not looked at marshals: %s", b)
	}
}

// A run keeps its host, the digest covers it, and a run without one is written as before.
func TestRunKeepsItsHost(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(recordtest.Hosted(id))
	if err != nil {
		t.Fatal(err)
	}
	var back record.Run
	if err := json.Unmarshal(raw, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(recordtest.Host().Parts(), back.Parts().Host.Parts()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if again, err := json.Marshal(back); err != nil || !bytes.Equal(raw, again) {
		t.Errorf("the line does not come back as it was (%v)", err)
	}
	for name, c := range map[string]struct {
		change func(host map[string]any)
		want   string
	}{
		"another target":      {func(h map[string]any) { h["target"] = "elsewhere" }, "digest"},
		"fewer accelerators":  {func(h map[string]any) { h["accelerators"].([]any)[0].(map[string]any)["count"] = 4.0 }, "digest"},
		"unified with a VRAM": {func(h map[string]any) { h["memory"].(map[string]any)["model"] = "unified" }, "unified"},
	} {
		var edited record.Run
		err := json.Unmarshal(edit(t, raw, func(v map[string]any) { c.change(v["host"].(map[string]any)) }), &edited)
		if err == nil || !strings.Contains(err.Error(), c.want) || !edited.IsZero() {
			t.Errorf("%s: %v, want words %q", name, err, c.want)
		}
	}
	plain, err := json.Marshal(recordtest.PerfRun(id))
	if err != nil || bytes.Contains(plain, []byte(`"host"`)) {
		t.Errorf("a run without a host: %v\n%s", err, plain)
	}
}

func FuzzHost(f *testing.F) {
	raw, err := json.Marshal(recordtest.Host())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add([]byte(`{"target":"here","cpu":{"arch":"x86_64"},"memory":{"model":"unknown"},"accelerators":null}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var h record.Host
		if err := json.Unmarshal(b, &h); err != nil || h.IsZero() {
			return
		}
		again, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		var back record.Host
		if err := json.Unmarshal(again, &back); err != nil {
			t.Fatalf("%s is written and not read: %v", again, err)
		}
		if b, err := json.Marshal(back); err != nil || !bytes.Equal(b, again) {
			t.Fatalf("%s\nbecame\n%s (%v)", again, b, err)
		}
	})
}
