package proc

// PID is the agent's process id, that of the guarded command and not of its guard.
func (p *Process) PID() int { return p.pid }
