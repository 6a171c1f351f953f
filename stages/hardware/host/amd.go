package host

import (
	"fmt"
	"path"
	"strings"

	"infbench/record"
)

// amdProducts are devices by PCI id, as the PCI ID Repository has them under 1002: the
// kernel's files hold no name.
var amdProducts = map[int64]string{
	0x738c: "AMD Instinct MI100", 0x7408: "AMD Instinct MI250X", 0x740c: "AMD Instinct MI250X", 0x740f: "AMD Instinct MI210", 0x74a0: "AMD Instinct MI300A", 0x74a1: "AMD Instinct MI300X",
	0x74a2: "AMD Instinct MI308X", 0x74a5: "AMD Instinct MI325X", 0x75a0: "AMD Instinct MI350X", 0x75a3: "AMD Instinct MI355X", 0x7448: "AMD Radeon PRO W7900", 0x744c: "AMD Radeon RX 7900", 0x7550: "AMD Radeon RX 9070",
	0x1586: "AMD Strix Halo",
}

// amd finds AMD's devices in the topology of the kernel's compute driver: a folder a node,
// of which the processors are some.
func (l *looker) amd() seen {
	const nodes = "sys/class/kfd/kfd/topology/nodes"
	var s seen
	for _, node := range l.names(nodes, mostDevices) {
		n := parseKFD(l.text(path.Join(nodes, node, "properties")))
		a := n.accelerator()
		if a.Name == "" {
			continue
		}
		for _, bank := range l.names(path.Join(nodes, node, "mem_banks"), 64) {
			a.MemoryBytes += parseKFD(l.text(path.Join(nodes, node, "mem_banks", bank, "properties"))).ownMemory()
		}
		s.by = "the kernel's compute topology"
		a.Unified = n["cpu_cores_count"] > 0 // processor and accelerator are one node
		s.add(a)
	}
	if s.by != "" {
		s.versions = known(nil, "amdgpu driver", l.text("sys/module/amdgpu/version"))
	}
	return s
}

// kfd are the properties of a node or of a memory bank, by name.
type kfd map[string]int64

// kfdProperties are those that are read. A unique id is among the others.
var kfdProperties = map[string]bool{"cpu_cores_count": true, "simd_count": true, "gfx_target_version": true, "vendor_id": true, "device_id": true, "heap_type": true, "size_in_bytes": true}

func parseKFD(text string) kfd {
	out := kfd{}
	for line := range strings.SplitSeq(text, "\n") {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && kfdProperties[name] {
			out[name] = number(value)
		}
	}
	return out
}

// accelerator is the device of a node, nothing for a node that only has processors.
func (n kfd) accelerator() record.Accelerator {
	a := record.Accelerator{Arch: gfxName(n["gfx_target_version"])}
	if n["simd_count"] == 0 || a.Arch == "" {
		return record.Accelerator{}
	}
	if a.Name = amdProducts[n["device_id"]]; a.Name == "" || n["vendor_id"] != 0x1002 {
		a.Name = "AMD " + a.Arch
	}
	return a
}

// ownMemory is the size of a bank that is the device's own: heap types 1 and 2 are frame
// buffer, 0 is the system's (HSA_MEM_HEAP_TYPE of AMD's runtime).
func (n kfd) ownMemory() int64 {
	if t := n["heap_type"]; t != 1 && t != 2 || n["size_in_bytes"] > 1<<44 {
		return 0
	}
	return n["size_in_bytes"]
}

// gfxName is the name of a version: decimal major, then minor and stepping in a hex digit
// each. 90402 is gfx942, 90010 is gfx90a.
func gfxName(v int64) string {
	major, minor, step := v/10000, v/100%100, v%100
	if major < 1 || major > 99 || minor > 15 || step > 15 {
		return ""
	}
	return fmt.Sprintf("gfx%d%x%x", major, minor, step)
}

// apple finds the accelerator of Apple's processors, which is a part of them.
func (l *looker) apple() seen {
	if l.System != "darwin" {
		return seen{}
	}
	brand := l.cpu().Model
	if !strings.HasPrefix(brand, "Apple ") {
		return seen{}
	}
	s := seen{by: "the processor"}
	s.add(record.Accelerator{Name: brand + " GPU"})
	return s
}
