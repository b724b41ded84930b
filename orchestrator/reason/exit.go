package reason

// Exit is the status with which orch ends. The README has the whole list.
type Exit int

// The exit codes. Beyond them orch ends with 128 and the number of the signal that stopped it.
const (
	ExitDone     Exit = 0 // done
	ExitFailed   Exit = 1 // unexpected, or the tracker is out of reach
	ExitUsage    Exit = 2 // usage or settings
	ExitNeedsYou Exit = 3 // finished, but a person is needed
	ExitNotReady Exit = 4 // something has to be set up or allowed first
	ExitNotFound Exit = 5 // no such epic or task
	ExitHeld     Exit = 6 // another orch is at it
	ExitLimit    Exit = 7 // a limit was reached; the next run goes on
	ExitNotYet   Exit = 8 // status --exit-status: not finished
	ExitMachine  Exit = 9 // the machine failed; run again when it is mended
)
