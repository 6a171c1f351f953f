package smoke

import (
	"context"
	"errors"
	"image/color"
	"net/http"
	"regexp"
	"strings"
	"time"

	"infbench/gates"
	"infbench/internal/drawn"
	"infbench/stages/endpoint"
)

var _ = checks.Add(gates.Check[endpoint.Endpoint]{
	ID: "smoke/image",
	Doc: `a server that takes pictures shows them to the model

A template or processor that drops the picture answers from the words alone, with status 200. The server's own count of prompt tokens tells a picture
that never arrived, whatever the model can see. Besides, the colours of two pictures are asked for and a word that is drawn in one: a picture that was
shrunk to a spot keeps its colour. A server that refuses pictures has none. One that takes and drops them is warned of where its model may have no eyes.`,
	Since:  "0.2.0",
	Cost:   1600 * time.Millisecond,
	Modes:  []string{"TPL-05"},
	Faults: []string{"image-dropped", "image-stale", "image-blurred"},
	Causes: []string{"the chat template has no place for pictures", "the vision part was not loaded (stage 0 counts its tensors)", "a picture cache keyed too coarsely", "a limit on pixels that leaves next to nothing"},
	Next:   []string{"infbench stage0 --checkpoint PATH", "the server's multimodal options"},
	Run:    picture,
})

// drawnWords are short and common, and no two share their first letter.
var drawnWords = []string{"APPLE", "BRIDGE", "CANDLE", "DRAGON", "FOREST", "GARDEN", "HAMMER", "ISLAND", "LEMON", "MIRROR", "RIVER", "TIGER"}

func picture(ctx context.Context, ep endpoint.Endpoint) (gates.Finding, error) {
	const question = "What is the colour in the image?"
	word := drawnWord(ep)
	blueWithWord := drawn.Picture(color.RGBA{B: 220, A: 255}, word)
	counted := map[string]int{}
	seen := map[string]string{}
	var first endpoint.Answer
	for _, p := range []struct {
		name    string
		picture []byte
	}{{"red", drawn.Picture(color.RGBA{R: 220, A: 255}, "")}, {"blue", blueWithWord}} {
		a, err := ep.AskPlain(ctx, endpoint.Conversation().Picture(question, p.picture).MaxTokens(48))
		if noEyes(err) {
			why := endpoint.Reason(err)
			ep.FoundUnable(endpoint.Images, why)
			return gates.NotApply("the server takes no pictures: %s", why), nil
		}
		if f := (*endpoint.Failure)(nil); errors.As(err, &f) && f.Status == http.StatusInternalServerError && !ep.Sees(ctx) {
			return gates.Skip("a picture gets status 500, and whether the model has eyes is not known: %s", endpoint.Reason(err)), nil
		}
		if err != nil {
			return gates.Finding{}, err
		}
		if p.name == "red" {
			first = a
		}
		counted[p.name] = a.Usage.Prompt.Or(0)
		seen[p.name] = strings.ToLower(a.Visible())
	}
	added, known, err := ep.AddedTokens(ctx, first, endpoint.Chat(question))
	if err != nil {
		return gates.Finding{}, err
	}
	saw := func(f gates.Finding) gates.Finding {
		return f.With("red: %s", gates.Quote(seen["red"], 80)).With("blue: %s", gates.Quote(seen["blue"], 80)).
			With("%d and %d prompt tokens with a picture, %d without", counted["red"], counted["blue"], counted["red"]-added)
	}
	red, blue := strings.Contains(seen["red"], "red"), strings.Contains(seen["blue"], "blue")
	switch {
	case known && added < endpoint.PictureTokens:
		if !ep.Sees(ctx) {
			return saw(gates.Warn("pictures are taken, and never reach the model")).
				Because("the server ignores parts of a message that it does not know", "the chat template has no place for pictures"), nil
		}
		return saw(gates.Fail("the picture never reaches the model")), nil
	case red && strings.Contains(seen["blue"], "red") && !blue:
		return saw(gates.Fail("the second picture is answered as the first")), nil
	case red && blue:
		return drawnWordIsRead(ctx, ep, blueWithWord, word)
	}
	return saw(gates.Skip("the model does not name the colours: this is beyond it")), nil
}

// noEyes reports whether a server says that it takes no pictures. Some say so with status
// 500, and are believed where their words are about that.
func noEyes(err error) bool {
	var f *endpoint.Failure
	if !errors.As(err, &f) {
		return false
	}
	return endpoint.FateOf(err) == endpoint.Declined || f.Status == http.StatusInternalServerError && ofPictures.MatchString(f.Said) && saysNo.MatchString(f.Said)
}

var (
	ofPictures = regexp.MustCompile(`(?i)image|picture|vision|visual|multi-?modal|mmproj`)
	saysNo     = regexp.MustCompile(`(?i)\b(not|no|cannot|unable|without|unsupported)\b`)
)

// drawnWord draws a word by the run's own codes.
func drawnWord(ep endpoint.Endpoint) string {
	n := 0
	for _, d := range ep.Canaries().Issue().String() {
		n = (n*10 + int(d-'0')) % len(drawnWords)
	}
	return drawnWords[n]
}

func drawnWordIsRead(ctx context.Context, ep endpoint.Endpoint, picture []byte, word string) (gates.Finding, error) {
	var said []string
	for range 2 { // the second time another word: one letter is not made out now and then
		a, err := ep.AskPlain(ctx, endpoint.Conversation().Picture("What is the word in the image?", picture).MaxTokens(48))
		if err != nil {
			return gates.Finding{}, err
		}
		if strings.Contains(strings.ToUpper(a.Visible()), word) {
			return gates.Pass("red and blue are told apart, and a word is read"), nil
		}
		said = append(said, word+" was drawn, and the answer is "+a.Says())
		for before := word; word == before; {
			word = drawnWord(ep)
		}
		picture = drawn.Picture(color.RGBA{B: 220, A: 255}, word)
	}
	f := gates.Warn("red and blue are told apart, and two drawn words are not read: the model sees no details")
	for _, s := range said {
		f = f.With("%s", s)
	}
	return f.Because("pictures are shrunk before they reach the model", "the model reads no letters"), nil
}
