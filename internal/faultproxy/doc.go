// Package faultproxy stands before an OpenAI-compatible endpoint and makes it lie in
// one named way, or in several.
//
// A healthy engine behind the proxy is the control; the same engine with a fault is
// the case a check must catch. A fault is one file that registers itself: it may
// rewrite the request, answer in the upstream's place, or pass the upstream's answer
// through a filter that sees each server-sent event as it arrives (or the one JSON
// body) and may change, drop, add or hold events.
//
// The one rule: what a fault is not about stays as it was. Events nobody changed go
// out byte for byte at the moment they came in, and without a fault the proxy is
// not there at all.
package faultproxy
