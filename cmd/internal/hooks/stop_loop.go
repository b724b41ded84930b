package hooks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/beadsorch/orch/cmd/internal/trust"
	"github.com/beadsorch/orch/cmd/internal/trust/plan"
	"github.com/beadsorch/orch/cmd/internal/workspace"
	"github.com/beadsorch/orch/stophook"
	"github.com/beadsorch/orch/stophook/session"
)

// loopSession is what is kept of the session that runs a criteria loop.
const loopSession = ".loop/session.json"

func (a sessionCmd) decideLoop(s stop, project string) (stop, error) {
	l, err := stophook.ReadCriteriaLoop(filepath.Join(project, session.LoopFile))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	path := filepath.Join(project, loopSession)
	bound, err := readLoopSession(path)
	if err != nil || bound.ID != "" && bound.ID != s.in.Session {
		return s, err // another session's
	}
	cfg := workspace.OpenForHook(a.app, project, "").Project.Config
	print, err := json.Marshal(l)
	if err != nil {
		return s, err
	}
	sum := sha256.Sum256(print)
	decide := func(bound session.Session) stophook.Decision {
		return stophook.DecideLoop(stophook.LoopFacts{
			Input: s.in, Settings: hookSettings(cfg.StopHook), Session: bound, Loop: l, Fingerprint: hex.EncodeToString(sum[:12]), Caps: limits(s.client),
		})
	}
	s.answer = decide(bound)
	s.settle = func(ctx context.Context) (answer stophook.Decision, err error) {
		return answer, changeSession(ctx, path, "", func(now session.Session, _ bool) (session.Session, error) {
			if now.ID != "" && now.ID != s.in.Session {
				return now, errors.New("another session has taken the loop meanwhile")
			}
			answer = decide(now)
			return answer.Session, nil
		})
	}
	if s.programs, err = loopPrograms(l, project); err != nil {
		return s, err
	}
	s.allowed = func(ctx context.Context) error { return a.allowed(ctx, project, s.programs) }
	s.prompt = loopPrompt(l, s.answer.Why)
	return s, nil
}

// loopPrograms are the commands of a loop's criteria.
func loopPrograms(l stophook.CriteriaLoop, project string) ([]plan.Item, error) {
	items, err := trust.LoopItems(project)
	return slices.DeleteFunc(items, func(i plan.Item) bool { return !slices.Contains(l.Criteria, i.Name) }), err
}

// readLoopSession is what is kept of a loop's session; its ID is "" when the loop
// belongs to whichever session works here.
func readLoopSession(path string) (session.Session, error) {
	s, _, err := session.Load(path, "")
	return s, err
}

func loopPrompt(l stophook.CriteriaLoop, why string) string {
	next := ""
	if len(l.RemainingSteps) > 0 {
		next = " Next step: " + l.RemainingSteps[0] + "."
	}
	return fmt.Sprintf("The loop is not done: %s.%s Run `orch loop status` first; work on the first unmet criterion; then `orch loop verify`. "+
		"When all criteria are true, end with <loop-complete>.", why, next)
}
