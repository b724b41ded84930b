package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/beadsorch/orch/orchestrator/private"
)

// Product is a work product of a task that is not in its commits.
type Product struct {
	// ID names the product.
	ID string `json:"workProductId"`
	// TaskID is the task.
	TaskID string `json:"taskId"`
	// Type is what kind of product it is.
	Type string `json:"type"`
	// Title is its title.
	Title string `json:"title"`
	// Content is the whole text.
	Content string `json:"content"`
	// At is when it was saved.
	At time.Time `json:"createdAt"`
}

// openParent opens the git directory that a log's folder is in: below orch/iterations, or in the
// folder of an epic.
func openParent(dir string) (*private.Dir, error) {
	for _, part := range []string{"/orch/epics/", "/orch/iterations/"} {
		if i := strings.LastIndex(dir, part); i > 0 {
			return private.OpenThere(dir[:i])
		}
	}
	return private.OpenAbove(dir, 3)
}

// maxProduct bounds a work product, in bytes.
const maxProduct = 64 << 20

// productFolder is where a task's work products are, beside its loop.
const productFolder = "products"

// SaveProduct saves a product in the folder of a log, where a content_pattern rule and a person
// can read it. It fails when it cannot be written.
func SaveProduct(dir string, p Product) (path string, err error) {
	doc, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return "", fmt.Errorf("saving the work product: %w", err)
	}
	path = filepath.Join(dir, productFolder, p.ID+".json")
	files, err := openParent(dir)
	if err == nil {
		err = errors.Join(files.WriteFile(path, doc), files.Close())
	}
	if err != nil {
		return "", fmt.Errorf("saving the work product: %w", err)
	}
	return path, nil
}

// ProductText is the text of all work products that were saved in the folder of a log since a
// time, oldest first. It fails when one cannot be read.
func ProductText(dir string, since time.Time) (string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, productFolder, "*.json"))
	var all strings.Builder
	for _, path := range paths { // their names are times
		var p Product
		text, readErr := private.ReadFile(path, maxProduct)
		if readErr == nil {
			readErr = json.Unmarshal(text, &p)
		}
		if readErr != nil {
			return "", fmt.Errorf("reading the work products: %w", readErr)
		}
		if !p.At.Before(since) {
			all.WriteString(p.Content + "\n")
		}
	}
	return all.String(), err
}
