package baseline

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"
)

// listLength divides 65,536, so that a word follows from two bytes without a bias.
const listLength = 2048

// wordList are 2,048 pronounceable words that no language and no licence has: 32 beginnings
// by 64 endings.
var wordList = func() (out [listLength]string) {
	begins := strings.Fields("ba be bi bo da de di do fa fe ga go ka ke ki ko la le li lo ma me mi mo na ne pa po ra re sa te")
	ends := strings.Fields("lan len lin lon man men min mon nar ner nor nur ran ren rin ron san sen sin son tal tel til tol tan ten tin ton var ver vin vor dal del dil dol dan den din don gar ger gor gul han hen hil hol kal kel kil kol mal mel mil mol pal pel pil pol ral rel ril rol")
	for i, b := range begins {
		for j, e := range ends {
			out[i*len(ends)+j] = b + e
		}
	}
	return out
}()

// draw yields the numbers below 2,048 that follow from a seed: sixteen of each block, which is
// the SHA-256 of the seed, a zero byte and the block's number.
type draw struct {
	seed  []byte
	block uint64
	left  []byte
}

func newDraw(seed string) *draw { return &draw{seed: append([]byte(seed), 0)} }

func (d *draw) next() int {
	if len(d.left) == 0 {
		sum := sha256.Sum256(binary.BigEndian.AppendUint64(d.seed[:len(d.seed):len(d.seed)], d.block))
		d.block++
		d.left = sum[:]
	}
	v := binary.BigEndian.Uint16(d.left)
	d.left = d.left[2:]
	return int(v % listLength)
}

// words returns the first n words of a seed.
func words(seed string, n int) string {
	d := newDraw(seed)
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(wordList[d.next()])
	}
	return b.String()
}

// nonceSeed is the seed of the words that a cold prompt begins with.
func nonceSeed(seed string, promptTokens, repeat int) string {
	return seed + "/nonce/" + strconv.Itoa(promptTokens) + "/" + strconv.Itoa(repeat)
}
