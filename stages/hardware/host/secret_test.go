package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"infbench/stages/hardware/host"
)

// planted are what must not get out, in each place where a machine keeps it.
var planted = []string{
	"secret-host-17", "corp.example", "sk-planted-key", "hf_planted", "GPU-6a3c1f0e", "6a3c1f0e-1111-2222-3333-444455556666", "1421123456789", "CZJ12345XY", "12345678901234567890",
	"alice", "/home", "192.0.2.", "10.11.12.13", "52:54:00:ab:cd:ef", "planted", "dvs-builder",
}

// Nothing of a machine's names, numbers, users, keys and paths is in what is kept, wherever
// it stands; a healthy record is kept all the same.
func TestNothingSecretGetsOut(t *testing.T) {
	t.Parallel()
	const uuid, container = "6a3c1f0e-1111-2222-3333-444455556666", "4f9a4f9a4f9a4f9a4f9a4f9a4f9a4f9a4f9a4f9a4f9a4f9a4f9a4f9a4f9a4f9a"
	digest := "sha256:" + strings.Repeat("0123456789abcdef", 4)
	smi := "$ nvidia-smi --query-gpu=name,compute_cap,memory.total,driver_version,mig.mode.current --format=csv,noheader,nounits"
	files := map[string]string{
		"proc/sys/kernel/hostname": "secret-host-17\n", "etc/hostname": "secret-host-17.corp.example\n",
		"proc/sys/kernel/osrelease": "6.8.0-41-generic-planted-alice@secret-host-17\n",
		"proc/version":              "Linux version 6.8.0 (alice@secret-host-17)\n",
		"etc/os-release":            "NAME=\"Ubuntu\"\nVERSION_ID=\"24.04\"\nPRETTY_NAME=\"planted by alice on secret-host-17\"\nBUILD_ID=planted\nHOME_URL=https://alice.corp.example\n",
		"proc/cpuinfo":              "processor\t: 0\nmodel name\t: Xeon of secret-host-17 " + uuid + " 52:54:00:ab:cd:ef 10.11.12.13 alice@corp.example\nSerial\t\t: 1421123456789\nflags\t\t: avx2 planted\nHardware\t: planted\n",
		"proc/meminfo":              "MemTotal: 1024 kB\nplanted: 1 kB\n",
		"proc/device-tree/model":    "NVIDIA Jetson AGX Orin 1421123456789", "proc/device-tree/serial-number": "1421123456789",
		"sys/class/dmi/id/product_serial": "CZJ12345XY", "sys/class/dmi/id/product_uuid": uuid, "etc/machine-id": "0123456789abcdef0123456789abcdef",
		"proc/driver/nvidia/version":                         "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.133.20  Release Build  (dvs-builder@U22-alice)\n",
		"proc/driver/nvidia/gpus/0000:01:00.0/information":   "Model: \t\t NVIDIA L40S\nGPU UUID: \t GPU-" + uuid + "\nVideo BIOS: planted\n",
		"sys/class/kfd/kfd/topology/nodes/1/properties":      "cpu_cores_count 0\nsimd_count 304\ngfx_target_version 90402\nvendor_id 4098\ndevice_id 29857\nunique_id 12345678901234567890\n",
		"sys/class/kfd/kfd/topology/nodes/1/name":            "planted",
		"sys/module/amdgpu/version":                          "/home/alice/amdgpu",
		"opt/rocm/.info/version":                             "6.3.1 built by alice\n",
		"run/.containerenv":                                  "name=\"planted-alice\"\nid=\"" + container + "\"\n",
		"proc/1/cgroup":                                      "0::/system.slice/docker-" + container + ".scope",
		"proc/net/tcp":                                       "  sl\n   0: 0100007F:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1\n",
		"proc/9/comm":                                        "planted-alice",
		"proc/9/cmdline":                                     "vllm\x00--api-key\x00sk-planted-key",
		"proc/9/cgroup":                                      "0::/user.slice/user-alice.slice/docker-" + container + ".scope",
		"proc/9/fd/3 -> socket:[4711]":                       "",
		"proc/9/fd/4 -> /home/alice/planted":                 "",
		"proc/9/environ":                                     "OPENAI_API_KEY=sk-planted-key\nHF_TOKEN=hf_planted\nUSER=alice\nHOSTNAME=secret-host-17\nHOME=/home/alice\nIMAGE_DIGEST=registry.corp.example/alice/vllm@" + digest + "\nCUDA_VERSION=sk-planted-key\nNCCL_VERSION=2.21.5\nPYTHON_VERSION=/home/alice/python\nCUDA_VERSION=12.4\nPYTORCH_VERSION=2.5 hf_planted\n",
		smi:                                                  "NVIDIA L40S GPU-" + uuid + ", 8.9, 46068, 570.133.20, [N/A]\nNVIDIA L40S secret-host-17 1421123456789, 8.9, 46068, planted, [N/A]\n",
		"$ nvidia-smi --version":                             "CUDA Version        : 12.8\nplanted: alice\n",
		"$ getconf GNU_LIBC_VERSION":                         "glibc alice",
		"run/docker.sock":                                    "",
		"$ docker --host unix:///run/docker.sock ps planted": "alice",
	}
	a := &txtar.Archive{Comment: []byte("system: linux\narch: amd64\ntarget: 127.0.0.1:8000\n")}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		a.Files = append(a.Files, txtar.File{Name: name, Data: []byte(files[name])})
	}
	for _, without := range []string{"", smi, "proc/driver"} { // the tool, then the driver's files, then the device tree
		a.Files = slices.DeleteFunc(a.Files, func(f txtar.File) bool { return without != "" && strings.HasPrefix(f.Name, without) })
		h := host.Capture(t.Context(), machine(t, a))
		b, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{string(b), h.String(), fmt.Sprintf("%+v", h.Parts())} {
			for _, secret := range planted {
				if strings.Contains(text, secret) {
					t.Errorf("%q is in %s", secret, text)
				}
			}
		}
		p := h.Parts()
		if len(p.Accelerators) < 2 || p.Memory.TotalBytes != 1024*1024 || p.OS != "Ubuntu 24.04" || p.Kernel != "Linux 6.8.0-41-generic" || p.Engine.Image != digest {
			t.Errorf("what is no secret is not kept: %s", b)
		}
	}
}

// What the caller knows to be secret is taken out as well.
func TestScrub(t *testing.T) {
	t.Parallel()
	s := machine(t, &txtar.Archive{Files: []txtar.File{{Name: "proc/cpuinfo", Data: []byte("model name : Xeon topsecret\nflags : avx2\n")}}})
	s.Scrub = func(text string) string { return strings.ReplaceAll(text, "topsecret", "«key»") }
	if got := host.Capture(t.Context(), s).Parts().CPU.Model; got != "Xeon «key»" {
		t.Errorf("got %q", got)
	}
}

// A tool that does not answer is asked once, and what the driver's files say is kept.
func TestToolThatHangs(t *testing.T) {
	t.Parallel()
	s := machine(t, &txtar.Archive{Files: []txtar.File{{Name: "proc/driver/nvidia/gpus/0000:01:00.0/information", Data: []byte("Model: NVIDIA L4\n")}}})
	asked := 0
	s.Exec = func(_ context.Context, name string, _ ...string) (string, error) {
		if name == "nvidia-smi" {
			asked++
		}
		return "", context.DeadlineExceeded
	}
	if p := host.Capture(t.Context(), s).Parts(); asked != 1 || len(p.Accelerators) != 1 || p.Accelerators[0].Arch != "sm_89" {
		t.Errorf("asked %d times, got %+v", asked, p.Accelerators)
	}
}

// A machine on which files are huge, strange or endless is captured in bounded memory, and
// nothing fails.
func TestHostileMachine(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("processor\t: 0\nmodel name\t: \x1b[31mred\u202e "+strings.Repeat("x", 500)+"\n", 20_000)
	rows := strings.Repeat("NVIDIA \x1b]0;title\aH100, 9.0, 99999999999999999999, ../../etc/passwd, Enabled\n", 20_000)
	a := &txtar.Archive{Comment: []byte("target: 127.0.0.1:8000\n"), Files: []txtar.File{
		{Name: "proc/cpuinfo", Data: []byte(huge)},
		{Name: "etc/os-release", Data: []byte("NAME=\"\x1b[2J\"\nVERSION_ID=\n")},
		{Name: "proc/meminfo", Data: []byte("MemTotal: 99999999999999999999 kB\n")},
		{Name: "sys/devices/system/cpu/online", Data: []byte("0-999999999")},
		{Name: "proc/net/tcp", Data: []byte(huge)},
		{Name: "$ nvidia-smi --query-gpu=name,compute_cap,memory.total,driver_version,mig.mode.current --format=csv,noheader,nounits", Data: []byte(rows)},
		{Name: "sys/class/kfd/kfd/topology/nodes/0/properties", Data: []byte("simd_count 9\ngfx_target_version 99999999999\n")},
	}}
	h := host.Capture(t.Context(), machine(t, a))
	b, err := json.Marshal(h)
	if err != nil || len(b) > 8192 || strings.ContainsAny(h.String(), "\x1b\a\u202e") {
		t.Errorf("%d bytes, %v: %s", len(b), err, h)
	}
	if p := h.Parts(); len(p.Accelerators) != 1 || p.Accelerators[0].Count != 1024 || p.Accelerators[0].Arch != "sm_90" || p.Memory.TotalBytes != 0 || p.CPU.Cores != 0 {
		t.Errorf("got %s", b)
	}
}
