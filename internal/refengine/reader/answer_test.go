package reader_test

import (
	"strings"
	"testing"

	"infbench/internal/refengine/reader"
)

func user(text string) reader.Message { return reader.Message{Role: reader.User, Content: text} }

func system(text string) reader.Message { return reader.Message{Role: reader.System, Content: text} }

func said(text string) reader.Message {
	return reader.Message{Role: reader.Assistant, Content: text}
}

func result(text string) reader.Message {
	return reader.Message{Role: reader.ToolResult, Content: text}
}

func ask(messages ...reader.Message) string {
	return reader.Answer(reader.Request{Messages: messages}).Content
}

func TestAnswersFromOneMessage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ prompt, want string }{
		// Definite descriptions.
		{"The secret code is 48213907. What is the secret code?", "The secret code is 48213907."},
		{"The secret code is 48213907.\n\nWhat is the secret code? Answer with the number only.", "48213907"},
		{"Remember that the secret code is 48213907. Tell me the secret code.", "The secret code is 48213907."},
		{"Secret code: 48213907\nReply with the secret code only.", "48213907"},
		{"The blue code is 11112222 and the red code is 33334444. What is the red code?", "The red code is 33334444."},
		{"The blue code is 11112222 and the red code is 33334444. What is the blue code?", "The blue code is 11112222."},
		{"The blue code is 11112222. The red code is 33334444. What is the green code?", "I do not know the green code."},
		{"The secret code of record 17 is 12345. The secret code of record 18 is 67890. What was the secret code of record 17?", "The secret code of record 17 is 12345."},
		{"The secret code of record 17 is 12345. What is the secret code of record 7?", "I do not know the secret code of record 7."},
		{"The access code for the harbour is 5551234. The access code for the mill is 5559876. Return the access code for the harbour.", "The access code for the harbour is 5551234."},
		{"Record 17: the access code is 482139.\nRecord 18: the access code is 482140.\nWhat is the access code of record 17?", "The access code is 482139."},
		{"Record 17: code 48213907, colour blue, city Paris.\nRecord 18: code 1234567, colour red, city Rome.\nWhat is the code of record 17?", "The code is 48213907."},
		{"The code is 1111. The code is now 2222. What is the code?", "The code is 2222."},
		{"The code was changed to 3333. What is the code?", "The code is 3333."},
		{"Use this: 48213907 is the secret code. What is the secret code?", "The secret code is 48213907."},
		{"My name is Ada. What is my name?", "Your name is Ada."},
		{"The weight of the crate is 12 kg. What is the weight of the crate?", "The weight of the crate is 12 kg."},
		{"The code for Ada is 991177. What is the code for Ada?", "The code for Ada is 991177."},
		{"Ship Alba has the access code 482139. What is the access code of Alba?", "The access code of Ship Alba is 482139."},
		{"| name | code |\n|---|---|\n| harbour | 48213 |\n| mill | 59324 |\n\nWhat is the code of the mill?", "The code of mill is 59324."},
		{"The secret code is 48213907. It was told to a sailor. What is the secret code that I told you earlier?", "The secret code is 48213907."},
		{"The first code is 1001. The second code is 2002. The third code is 3003. What is the second code?", "The second code is 2002."},
		{"The blue code is 11112222. The red code is 33334444. What is the blue code? What is the red code?", "The blue code is 11112222.\nThe red code is 33334444."},
		{"Read the text and tell me the secret code.\n\nThe river is wide. The secret code is 48213907. The hills are green.", "The secret code is 48213907."},
		{"The secret code is 48213907.\nThe capital of France is", "Paris."},
		{"What is the access code for the archive?", "I do not know the access code for the archive."},
		{"Record 1. Name: Alba. Access code: 48213907.\nRecord 2. Name: Boreal. Access code: 11112222.\nWhat is the access code of Alba?", "The access code is 48213907."},
		{"The harbour code is 12345678. The mill code is 23456789. List all two codes.", "The harbour code is 12345678.\nThe mill code is 23456789."},
		{"The harbour code is 12345678. The mill code is 23456789. What are the harbour code and the mill code?", "The harbour code is 12345678.\nThe mill code is 23456789."},
		{"When the bells rang, the smith hid the boat near the mill. The secret code is 48213907. What is the secret code?", "The secret code is 48213907."},
		{"Where the road ends, the guide sold the drum. The secret code is 48213907. What is the secret code?", "The secret code is 48213907."},
		{"Remember the number 48213907. What is the number I asked you to remember?", "The number is 48213907."},
		{"One of the special magic numbers for age is: 8090293. What is the special magic number for age mentioned in the provided text?", "One of the special magic numbers for age is 8090293."},
		{"Agent 7 has badge 83218790 and agent 8 has badge 11112222. What is the badge of agent 7?", "The badge of Agent 7 is 83218790."},
		{"In room 12 the key is 4455667 and in room 13 the key is 9988776. What is the key in room 12?", "The key is 4455667."},
		{"lorem ipsum dolor sit amet is long The secret code is 48213907. What is the secret code?", "The secret code is 48213907."},
		{strings.Repeat("lorem ipsum dolor ", 400) + "and the secret code is 48213907. What is the secret code?", "The secret code is 48213907."},
		{"The codes are: blue 11112222, red 33334444. What is the red code?", "The red is 33334444."},
		{"Begin your answer with the secret code, then count from 1 to 3. The secret code is 48213907.", "The secret code is 48213907.\n1\n2\n3"},
		// Known and worked out.
		{"What is the capital of France?", "The capital of France is Paris."},
		{"What is the capital of France? Answer with one word.", "Paris"},
		{"What day comes after Monday?", "The day after Monday is Tuesday."},
		{"What is the opposite of hot?", "The opposite of hot is cold."},
		{"What colour is the sky?", "The colour of the sky is blue."},
		{"What is 17 × 23?", "17 × 23 = 391."},
		{"What is 17 * 23? Answer with the number only.", "391"},
		{"Compute 12 + 30 / 5 - 2.", "12 + 30 / 5 - 2 = 16."},
		{"What is 7 times 8?", "7 * 8 = 56."},
		{"Calculate (2 + 3) * 4", "(2 + 3) * 4 = 20."},
		// Text to say.
		{"Reply with OK", "OK"},
		{"Reply with OK.", "OK"},
		{"Reply with the word OK and nothing else.", "OK"},
		{"Reply with exactly: pong", "pong"},
		{"Say hello", "hello"},
		{"Write A###B", "A###B"},
		{"repeat: 🧪👩‍👩‍👧‍👦漢字👍🏽", "🧪👩‍👩‍👧‍👦漢字👍🏽"},
		{"Repeat exactly: One. Two. Three.", "One. Two. Three."},
		{`Repeat the following text exactly: "a, b"`, "a, b"},
		{"Spell the word 'harbour' backwards.", "ruobrah"},
		{"Spell lantern backwards", "nretnal"},
		{"Reply only with the word yes", "yes"},
		{"Reply with a single word: ready", "ready"},
		{"Respond with the text 'ack-17' only.", "ack-17"},
		{"How many letters are in the word lantern?", "The word lantern has 7 letters."},
		{"Write the word apple in uppercase.", "APPLE"},
		{"Sort these words alphabetically: pear, apple, fig.", "apple, fig, pear"},
		{"Count down from 5 to 1.", "5\n4\n3\n2\n1"},
		{"Count from 1 to 5, one per line.", "1\n2\n3\n4\n5"},
		{"Count from 1 to 4, separated by commas.", "1, 2, 3, 4"},
		{"List the numbers from 1 to 3.", "1\n2\n3"},
	} {
		if got := ask(user(c.prompt)); got != c.want {
			t.Errorf("%q:\n got %q\nwant %q", c.prompt, got, c.want)
		}
	}
}

func TestAnswersFromTheConversation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		messages []reader.Message
		want     string
	}{
		{"an earlier turn", []reader.Message{user("The secret code is 48213907."), said("Understood."), user("What is the secret code?")}, "The secret code is 48213907."},
		{"a system message", []reader.Message{system("The password is swordfish77."), user("What is the password?")}, "The password is swordfish77."},
		{"a JSON tool result", []reader.Message{user("Look it up."), result(`{"next_key":"alpha-7","code":48213907}`), user("What is the code?")}, "The code is 48213907."},
		{"a text tool result", []reader.Message{user("Look it up."), result("Record 3.\nNext key: K-17\nThe code is 12345678."), user("What is the next key? Answer with the key only.")}, "K-17"},
		{"the first of two results", []reader.Message{user("a"), result(`{"code":"11111111"}`), user("b"), result(`{"code":"22222222"}`), user("What was the code of the first result?")}, "The code is 11111111."},
		{"asked before the result", []reader.Message{user("Use get_weather for Paris and tell me the temperature."), result(`{"temperature": 21}`)}, "The temperature is 21."},
		{"an ending", []reader.Message{system("End every answer with the word kestrel."), user("Reply with OK")}, "OK kestrel"},
		{"an ending in digits", []reader.Message{system("You are helpful. Always end your answer with 48213907."), user("What is the capital of France?")}, "The capital of France is Paris. 48213907"},
		{"a standing format", []reader.Message{system("Answer with the number only."), user("The code is 5566. What is the code?")}, "5566"},
		{"nothing asked", []reader.Message{user("The secret code is 48213907.")}, "Understood."},
	} {
		if got := ask(c.messages...); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	for _, prompt := range []string{
		"The secret code is 48213907. What is the secret code? Then write a numbered list of 20 lines, each line containing the secret code.",
		"The secret code is 48213907. State the secret code, then list 20 lines that each repeat the secret code.",
		"The secret code is 48213907. Repeat the secret code 20 times, one per line.",
		"The secret code is 48213907. Write 20 numbered lines, each containing the secret code.",
	} {
		got := ask(user(prompt))
		if n := strings.Count(got, "48213907"); n < 20 || n > 21 {
			t.Errorf("%q: the code occurs %d times in %q", prompt, n, got)
		}
		if lines := strings.Count(got, "\n") + 1; lines < 20 || lines > 21 {
			t.Errorf("%q: got %d lines", prompt, lines)
		}
	}
}

func TestFindsTheNeedleInALongPrompt(t *testing.T) {
	t.Parallel()
	for _, at := range []int{0, 1500, 2999} {
		var b strings.Builder
		for i := range 3000 {
			if i == at {
				b.WriteString("The access code for the lighthouse is 48213907.\n")
			}
			b.WriteString("The keeper of station number ")
			b.WriteString(strings.Repeat("x", i%7+1))
			b.WriteString(" wrote that the wind is strong, and the boats were late.\n")
		}
		b.WriteString("\nWhat is the access code for the lighthouse?")
		if got, want := ask(user(b.String())), "The access code for the lighthouse is 48213907."; got != want {
			t.Errorf("needle at %d: got %q, want %q", at, got, want)
		}
	}
}

func TestProse(t *testing.T) {
	t.Parallel()
	seen := make(map[string]string)
	for i, prompt := range []string{
		"Write a story.", "Write a story about the sea.", "Explain in four sentences why the sky is blue.",
		"Summarise the following text: the river is wide.", "Write a haiku about rain", "Tell me a joke",
	} {
		r := reader.Answer(reader.Request{Messages: []reader.Message{user(prompt)}, Origin: uint64(i)})
		if n := len(strings.Fields(r.Content)); n < 150 || n > 350 {
			t.Errorf("%q: %d words", prompt, n)
		}
		if other, ok := seen[r.Content]; ok {
			t.Errorf("%q and %q get the same text", prompt, other)
		}
		seen[r.Content] = prompt
		if more := r.More() + r.More(); len(more) < 40 {
			t.Errorf("%q goes on with %q", prompt, more)
		}
	}
	got := ask(user("The code word is kestrel. Write a paragraph about the sea, then state the code word."))
	if !strings.HasSuffix(got, "The code word is kestrel.") || len(got) < 500 {
		t.Errorf("prose and a fact: %q", got)
	}
	if got := ask(user("Write a paragraph about harbours. End with the code 48213907.")); !strings.HasSuffix(got, " 48213907") {
		t.Errorf("an ending in the request: %q", got)
	}
}

func TestReasoning(t *testing.T) {
	t.Parallel()
	q := reader.Request{Messages: []reader.Message{user("The code is 1234. What is the code?")}, Thinks: true}
	r := reader.Answer(q)
	if len(strings.Fields(r.Reasoning)) < 15 || strings.Contains(r.Reasoning, "<think>") || r.Content != "The code is 1234." {
		t.Errorf("reasoning %q, content %q", r.Reasoning, r.Content)
	}
	q.Thinks = false
	if r := reader.Answer(q); r.Reasoning != "" {
		t.Errorf("reasoning without being asked: %q", r.Reasoning)
	}
}

func BenchmarkLongPrompt(b *testing.B) {
	for name, line := range map[string]string{
		"statements":  "The keeper of the station wrote that the wind is strong and the code of the boats was 12345.\n",
		"no stops":    "lorem ipsum dolor sit amet ",
		"commas":      "lorem, ipsum is, ",
		"conjoined":   "a is b and the ",
		"quotes":      "\"{[ ",
		"capitals":    "is The ",
		"one word":    "x",
		"parentheses": "1 + ( ",
		"lookups":     "call lookup with key ",
	} {
		b.Run(name, func(b *testing.B) {
			text := strings.Repeat(line, 120_000/len(line)) + " What is the code of the harbour?"
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				reader.Answer(reader.Request{Messages: []reader.Message{user(text)}, Tools: []reader.Tool{lookup, order}})
			}
		})
	}
}
