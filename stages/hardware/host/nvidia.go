package host

import (
	"encoding/csv"
	"errors"
	"io"
	"path"
	"regexp"
	"strings"

	"infbench/record"
)

// The fields of nvidia-smi, newest first: drivers before 510 do not know compute_cap.
const (
	smiFields    = "name,compute_cap,memory.total,driver_version,mig.mode.current"
	smiFieldsOld = "name,memory.total,driver_version"
)

// nvidia finds NVIDIA's devices: by the tool, by the driver's files, or by the board's name.
func (l *looker) nvidia() seen {
	for _, fields := range []string{smiFields, smiFieldsOld} {
		printed, ok := l.ask("nvidia-smi", "--query-gpu="+fields, "--format=csv,noheader,nounits")
		if !ok {
			continue
		}
		if s := parseSMI(printed, strings.Split(fields, ",")); len(s.kinds) > 0 {
			s.by = "nvidia-smi"
			if about, ok := l.ask("nvidia-smi", "--version"); ok {
				if m := cudaVersion.FindStringSubmatch(about); m != nil {
					s.versions = known(s.versions, "CUDA of the driver", m[1])
				}
			}
			return s
		}
	}
	if s := l.nvidiaFiles(); len(s.kinds) > 0 {
		return s
	}
	return l.jetson()
}

var cudaVersion = regexp.MustCompile(`(?m)^CUDA Version\s*:\s*([0-9]{1,3}\.[0-9]{1,3})`)

// parseSMI reads what nvidia-smi prints for the fields: a device a line.
func parseSMI(printed string, fields []string) seen {
	var s seen
	r := csv.NewReader(strings.NewReader(printed))
	r.FieldsPerRecord, r.TrimLeadingSpace, r.LazyQuotes = len(fields), true, true
	for range mostDevices {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return seen{} // not what was asked for: a message, or another program
		}
		said := map[string]string{}
		for i, f := range fields {
			said[f] = strings.TrimSpace(row[i])
		}
		a := record.Accelerator{Name: model(said["name"]), Partitioned: said["mig.mode.current"] == "Enabled"}
		if a.Name == "" {
			return seen{}
		}
		if m := capability.FindStringSubmatch(said["compute_cap"]); m != nil {
			a.Arch = "sm_" + m[1] + m[2]
		} else {
			a.Arch = archOf(a.Name)
		}
		if mib := said["memory.total"]; digits.MatchString(mib) {
			a.MemoryBytes = number(mib) << 20
		}
		if len(s.kinds) == 0 {
			s.versions = known(nil, "NVIDIA driver", said["driver_version"])
		}
		s.add(a)
	}
	return s
}

var capability = regexp.MustCompile(`^([1-9][0-9]?)\.([0-9])$`)

// nvidiaFiles reads the driver's own files, where its tool is not installed or fails.
func (l *looker) nvidiaFiles() seen {
	var s seen
	const dir = "proc/driver/nvidia"
	for _, gpu := range l.names(path.Join(dir, "gpus"), mostDevices) {
		name := parseGPUInformation(l.text(path.Join(dir, "gpus", gpu, "information")))
		if name == "" {
			continue
		}
		s.by = "the driver's files"
		s.add(record.Accelerator{Name: name, Arch: archOf(name)})
	}
	if m := driverVersion.FindStringSubmatch(l.text(path.Join(dir, "version"))); m != nil {
		s.versions = known(s.versions, "NVIDIA driver", m[1])
	}
	return s
}

var driverVersion = regexp.MustCompile(`(?m)^NVRM version:.*Kernel Module(?: for \S+)?\s+([0-9]{1,4}(?:\.[0-9]{1,4}){1,2})\b`)

// parseGPUInformation returns the model out of a device's information; its UUID and the rest
// stay where they are.
func parseGPUInformation(text string) string {
	for key, value := range pairs(text, ":") {
		if key == "Model" {
			return model(value)
		}
	}
	return ""
}

// jetson finds boards by their name in the device tree.
func (l *looker) jetson() seen {
	name := model(l.text("proc/device-tree/model"))
	a := archOf(name)
	if !strings.HasPrefix(a, "sm_") {
		return seen{}
	}
	s := seen{by: "the device tree"}
	s.add(record.Accelerator{Name: name, Arch: a})
	if m := tegraRelease.FindStringSubmatch(l.text("etc/nv_tegra_release")); m != nil {
		s.versions = known(nil, "Jetson Linux", m[1]+"."+m[2])
	}
	return s
}

var tegraRelease = regexp.MustCompile(`^# R([0-9]{1,3}) \(release\), REVISION: ([0-9]{1,3}\.[0-9]{1,3})`)
