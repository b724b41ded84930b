package private

import (
	"errors"
	"syscall"
)

// RefusedError says that the system does not let a file or a folder of ours be made, changed or removed: by a mode, an
// owner, an attribute, a read-only mount, or since it is in use. No work is to blame for that.
type RefusedError struct {
	// Err is what the system says, with the path.
	Err error
}

// Error is the system's.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap is the system's error.
func (e *RefusedError) Unwrap() error { return e.Err }

// Refused is err as a [*RefusedError] where it is one of a file that cannot be changed, else err.
func Refused(err error) error {
	for _, why := range []error{syscall.EPERM, syscall.EACCES, syscall.EROFS, syscall.EBUSY, syscall.ETXTBSY} {
		if errors.Is(err, why) {
			return &RefusedError{Err: err}
		}
	}
	return err
}

// GoneError says that a folder that files of ours are below is not where it was: it was moved or removed, with all that
// is in it.
type GoneError struct {
	// Path is where it was.
	Path string
	// Err is what the system says.
	Err error
}

// Error names the folder.
func (e *GoneError) Error() string { return e.Path + " is not there any more: " + e.Err.Error() }

// Unwrap is the system's error.
func (e *GoneError) Unwrap() error { return e.Err }
