package refengine_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"infbench/internal/refengine"
)

func ExampleServe() {
	ctx, stop := context.WithCancel(context.Background())
	e, err := refengine.New(refengine.Config{})
	if err != nil {
		panic(err)
	}
	s, err := refengine.Serve(ctx, "", e)
	if err != nil {
		panic(err)
	}
	res, err := http.Post(s.URL()+"/v1/chat/completions", "application/json", strings.NewReader(
		`{"messages":[{"role":"user","content":"The secret code is 48213907. What is the secret code?"}]}`))
	if err != nil {
		panic(err)
	}
	data, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	fmt.Println(gjson.GetBytes(data, "choices.0.message.content"))
	stop()
	fmt.Println(s.Wait(), e.Close(), e.Truths()[0].OutputTokens)
	// Output:
	// The secret code is 48213907.
	// <nil> <nil> 11
}
