package record

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
)

// Seal returns bytes that this person's machine can read again and nobody else, bound to
// what they are about. It is for a number that must survive a crash and may not be read:
// see the decision on changes and speeds.
func (r *Redactor) Seal(about string, content []byte) string {
	return base64.RawStdEncoding.EncodeToString(r.vault().Seal(nil, nil, content, []byte(about)))
}

// Unseal returns what was sealed; false when the key is another one, the seal is about
// something else, or anything was changed.
func (r *Redactor) Unseal(about, sealed string) ([]byte, bool) {
	b, err := base64.RawStdEncoding.DecodeString(sealed)
	if err != nil {
		return nil, false
	}
	content, err := r.vault().Open(nil, nil, b, []byte(about))
	return content, err == nil
}

// vault is made of a key of its own, so that host labels and seals tell nothing of each other.
func (r *Redactor) vault() cipher.AEAD {
	mac := hmac.New(sha256.New, r.key)
	mac.Write([]byte("infbench seal"))
	block, err := aes.NewCipher(mac.Sum(nil))
	if err != nil {
		panic(err) // 32 bytes are a key
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // the block is AES
	}
	return aead
}
