package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/beadsorch/orch/stophook/session"
	"github.com/beadsorch/orch/templates"
)

// RunTasks is the prompt of a session that runs an epic: the team's own, from the file that the session's client has for
// it, "" for one that is not known, or that another client has; else orch's. refused says why a file that is there is not
// taken.
func (w *Workspace) RunTasks(epicID, clientName string) (prompt string, refused, err error) {
	data := templates.RunTasksData{Epic: epicID, Tracker: w.TasksCommand()}
	var places []string
	for _, k := range ClientsWithHooks() {
		if k.Name == clientName {
			places = append([]string{k.Prompt}, places...)
		} else {
			places = append(places, k.Prompt)
		}
	}
	for _, place := range places {
		text, err := session.ReadState(filepath.Join(w.Project.Root, place))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			prompt, err = templates.FillRunTasks(string(text), data)
		}
		if err == nil {
			return prompt, nil, nil
		}
		refused = fmt.Errorf("%s is not sent to sessions, but orch's own prompt: %w", place, err)
		break
	}
	prompt, err = templates.RunTasks(data)
	return prompt, refused, err
}
