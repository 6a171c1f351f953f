package power

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"infbench/gates"
)

// Bounds on the page of an exporter: a node of 16 devices has some 100 KiB.
const (
	mostPage   = 8 << 20
	pageWithin = 2 * time.Second
)

// DCGM reads the page of a DCGM exporter at an address, whose accelerators are taken to be the
// engine's: the person who gives the address says so.
func DCGM(address string) (Source, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return Source{}, errors.New("want the address of a DCGM exporter's page, such as http://127.0.0.1:9400/metrics")
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/metrics"
	}
	client := &http.Client{
		Timeout:       pageWithin,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return Source{"DCGM exporter", func(ctx context.Context) (Reading, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
		if err != nil {
			return Reading{}, errors.New("the DCGM exporter cannot be asked")
		}
		resp, err := client.Do(r)
		if err != nil {
			return Reading{}, errors.New("the DCGM exporter does not answer") // its address is nobody's business
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != http.StatusOK {
			return Reading{}, fmt.Errorf("the DCGM exporter answers with status %d", resp.StatusCode)
		}
		body, err := io.ReadAll(io.LimitReader(resp.Body, mostPage))
		if err != nil {
			return Reading{}, errors.New("the DCGM exporter's page could not be read")
		}
		return parseDCGM(body)
	}}, nil
}

// parseDCGM reads the page. A device that is split shows its power once for each part, and its
// memory for each part apart.
func parseDCGM(page []byte) (Reading, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, _ := parser.TextToMetricFamilies(bytes.NewReader(page)) // as far as it can be read
	power, n := perDevice(families["DCGM_FI_DEV_POWER_USAGE"], mostWatts)
	energy, _ := perDevice(families["DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION"], 1e15)
	var memory sum
	used := families["DCGM_FI_DEV_FB_USED"].GetMetric()
	for _, m := range used {
		mib := value(m)
		memory.add(mib, within(mib*(1<<20), mostBytes))
	}
	memory.missing = memory.missing || len(used) == 0
	r, err := reading(n, power.count(1000), memory.count(1<<20))
	r.Millijoules = energy.count(1)
	return r, err
}

// perDevice adds up a metric over devices, each once.
func perDevice(f *dto.MetricFamily, most float64) (sum, int) {
	devices := map[string]float64{}
	s := sum{missing: len(f.GetMetric()) == 0}
	for _, m := range f.GetMetric() {
		v := value(m)
		if !within(v, most) {
			s.missing = true
			continue
		}
		key := ""
		for _, l := range m.Label {
			if l.GetName() == "gpu" || l.GetName() == "Hostname" {
				key += l.GetName() + "=" + l.GetValue() + ";"
			}
		}
		devices[key] = max(devices[key], v)
	}
	for _, v := range devices {
		s.add(v, true)
	}
	return s, len(devices)
}

func value(m *dto.Metric) float64 {
	return m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetUntyped().GetValue()
}

// reading is what devices tell, an error where they tell no power: memory alone is on other
// pages too.
func reading(devices int, milliwatts, memory gates.Count) (Reading, error) {
	if _, ok := milliwatts.N(); devices == 0 || !ok {
		return Reading{}, errNothing
	}
	return Reading{Devices: devices, Milliwatts: milliwatts, MemoryBytes: memory}, nil
}
