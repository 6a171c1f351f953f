package endpoint

import "sync"

// Afresh returns the same opened endpoint with an empty memory of its answers: nothing was
// asked, no script was seen, nobody waited in vain. What was found out about the server, its
// codes and its connections are shared. A run of hours asks the same checks again and again,
// and each time they must look at new answers; counts that are meant for one run, such as
// words in other scripts, would grow with the hours alone.
func (e Endpoint) Afresh() Endpoint {
	o := e.shared
	n := &shared{
		client: o.client, engine: o.engine, build: o.build, model: o.model, models: o.models,
		canaries: o.canaries, inFlight: o.inFlight, stated: o.stated, observe: o.observe,
	}
	share(&o.lacks, &n.lacks)
	share(&o.refused, &n.refused)
	n.right.Store(o.right.Load())
	n.requests.Store(o.requests.Load())
	return Endpoint{n}
}

// share copies what one map holds into another.
func share(from, to *sync.Map) {
	from.Range(func(k, v any) bool {
		to.Store(k, v)
		return true
	})
}
