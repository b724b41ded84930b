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

// Product is something that was made for a task beside its commits.
type Product struct {
	// ID is its own.
	ID string `json:"workProductId"`
	// TaskID is the task.
	TaskID string `json:"taskId"`
	// Type is what kind of product it is.
	Type string `json:"type"`
	// Title is its title.
	Title string `json:"title"`
	// Content is the whole text.
	Content string `json:"content"`
	// At is when it was kept.
	At time.Time `json:"createdAt"`
}

// below holds the git directory that a book's folder is in: below orch/iterations, or in the folder
// of an epic.
func below(book string) (*private.Dir, error) {
	for _, part := range []string{"/orch/epics/", "/orch/iterations/"} {
		if i := strings.LastIndex(book, part); i > 0 {
			return private.Open(book[:i])
		}
	}
	return private.OpenAbove(book, 3)
}

// maxProduct bounds a work product, in bytes.
const maxProduct = 64 << 20

// productFolder is where a task's work products are, beside its loop.
const productFolder = "products"

// Keep keeps a product beside the loop of a book's folder, where a content_pattern rule can
// look into it and a person can read it. It fails when it cannot be written.
func Keep(book string, p Product) (path string, err error) {
	doc, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return "", fmt.Errorf("keeping the work product: %w", err)
	}
	path = filepath.Join(book, productFolder, p.ID+".json")
	files, err := below(book)
	if err == nil {
		err = errors.Join(files.WriteFile(path, doc), files.Close())
	}
	if err != nil {
		return "", fmt.Errorf("keeping the work product: %w", err)
	}
	return path, nil
}

// Products is the text of all work products that were kept beside a book since a time, oldest
// first. It fails when one cannot be read.
func Products(book string, since time.Time) (string, error) {
	paths, err := filepath.Glob(filepath.Join(book, productFolder, "*.json"))
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
