// Package endpoint speaks to the server under test.
//
// A [Target] is where it is; [Open] finds out what it is and returns an
// [Endpoint], through which every check asks and every measurement runs. Requests
// are values ([Chat]), answers are values too ([Answer]): every channel, the usage
// in all its variants, how the stream ended, what broke the contract, and the time
// of each read.
//
// The one rule: time is taken at the read that brought the bytes, before anything
// is parsed, and memory stays bounded whatever the server sends. All that gates or
// measures goes through the one stream client here; go-openai makes the messages
// and tools around it and lists the models.
//
// Engines are recognised by what they show, never by a version number. A new
// engine is one new file that registers an adapter.
package endpoint
