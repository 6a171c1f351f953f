package lines

import (
	"fmt"

	"github.com/gofrs/flock"
)

// Hold takes a journal's lock, so that two writers never share one; by says what the other
// one would be, such as "run".
func Hold(lock *flock.Flock, by string) error {
	ok, err := lock.TryLock()
	switch {
	case err != nil:
		return fmt.Errorf("journal lock: %w", err)
	case !ok:
		return fmt.Errorf("the journal %s is being written by another %s", lock.Path(), by)
	}
	return nil
}
