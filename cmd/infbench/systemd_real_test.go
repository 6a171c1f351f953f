//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// boot runs a real systemd over the units of a folder alone, as the first process of a
// namespace of its own that can write nowhere but there. It returns the lines that the
// units write to the pipe "log" in the folder, until all that are wanted have come.
func boot(t *testing.T, dir string, want []string) []string {
	t.Helper()
	pipe := filepath.Join(dir, "log")
	if err := syscall.Mkfifo(pipe, 0o666); err != nil {
		t.Fatal(err)
	}
	log, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	script := fmt.Sprintf(`mount --make-rprivate / && mount --bind %[1]s %[1]s && mount -o remount,ro,bind / && mount -t tmpfs tmpfs /run || exit 77
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin container=test SYSTEMD_UNIT_PATH=%[1]s %[2]s --system --unit=all.target --log-target=console --show-status=no`, dir, systemdPath)
	c := exec.CommandContext(ctx, "unshare", "--fork", "--pid", "--mount-proc", "--mount", "--kill-child=KILL", "sh", "-c", script)
	var said strings.Builder
	c.Stdout, c.Stderr = &said, &said
	c.WaitDelay = time.Second
	if err := c.Start(); err != nil {
		t.Skipf("no namespace can be made here: %v", err)
	}
	exited := make(chan struct{})
	go func() { _ = c.Wait(); close(exited); _ = log.Close() }() // which ends the reading below
	var lines []string
	for s := bufio.NewScanner(log); s.Scan(); {
		lines = append(lines, s.Text())
		if !slices.ContainsFunc(want, func(w string) bool { return count(lines, w) < count(want, w) }) {
			break
		}
	}
	cancel()
	<-exited
	if len(lines) == 0 {
		t.Skipf("no systemd starts here: %.300s", said.String())
	}
	return lines
}

const systemdPath = "/lib/systemd/systemd"

func count(list []string, s string) (n int) {
	for _, l := range list {
		if l == s {
			n++
		}
	}
	return n
}

// What systemd itself makes of the exit codes, with the units of docs/examples: a oneshot
// succeeds on 0 and 1 and calls for help on 2 and 64; ExecStartPost= lets an engine run
// on 0 and 1, and has it restarted until the limit on 2.
func TestSystemdItself(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat(systemdPath); err != nil || os.Getuid() != 0 {
		t.Skip("it wants a systemd, and root for a namespace of its own")
	}
	dir := t.TempDir()
	examples := filepath.Join("..", "..", "docs", "examples", "systemd")
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(examples, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil { //nolint:gosec // some are programs
			t.Fatal(err)
		}
	}
	say := func(words string) string { return fmt.Sprintf("/bin/sh -c 'echo %s > %s/log'", words, dir) }
	alone := func(unit string) string { return strings.Replace(unit, "[Unit]", "[Unit]\nDefaultDependencies=no", 1) }
	oneshot, dropIn := alone(read("infbench-smoke.service")), read("engine-restart.conf")
	var all, want []string
	for _, code := range []int{0, 1, 2, 64} {
		program := fmt.Sprintf("%s/exits-%d", dir, code)
		write(filepath.Base(program), fmt.Sprintf("#!/bin/sh\nexit %d\n", code))
		ours := strings.NewReplacer("/usr/local/bin/infbench", program, "engine.service", fmt.Sprintf("engine-%d.service", code),
			"DynamicUser=yes\n", "", "RestartSec=30s", "RestartSec=100ms")
		write(fmt.Sprintf("engine-%d.service", code), "[Unit]\nDefaultDependencies=no\n[Service]\nExecStart=/bin/sleep 1000\n")
		write(fmt.Sprintf("smoke-%d.service", code), ours.Replace(oneshot)+"ExecStopPost="+say(fmt.Sprintf("oneshot %d: $SERVICE_RESULT", code))+"\n")
		write(fmt.Sprintf("post-%d.service", code), ours.Replace("[Unit]\nDefaultDependencies=no\n"+dropIn)+
			"ExecStart=/bin/sleep 1000\nExecStartPre="+say(fmt.Sprintf("engine %d starts", code))+"\n")
		all = append(all, fmt.Sprintf("engine-%d.service smoke-%d.service post-%d.service", code, code, code))
		result, starts := "success", 1
		if code > 1 {
			result, starts = "exit-code", 3 // StartLimitBurst=
			want = append(want, fmt.Sprintf("alert smoke-%d.service", code))
		}
		want = append(want, fmt.Sprintf("oneshot %d: %s", code, result))
		want = append(want, slices.Repeat([]string{fmt.Sprintf("engine %d starts", code)}, starts)...)
	}
	write("engine-alert@.service", "[Unit]\nDefaultDependencies=no\n[Service]\nType=oneshot\nExecStart="+say("alert %i")+"\n")
	write("all.target", "[Unit]\nDefaultDependencies=no\nWants="+strings.Join(all, " ")+"\n")
	got := boot(t, dir, want)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("systemd did\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}
