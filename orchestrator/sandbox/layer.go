package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
)

// layerName is the name of the folder in which is what is written at a bound.
func (b Bound) layerName() string {
	sum := sha256.Sum256([]byte(b.At))
	return ".layer-" + hex.EncodeToString(sum[:8])
}

// upperFolder is the folder of a layer in which is what was written.
const upperFolder = "upper"

// beside is the folder outside of the sandbox in which what is written at a bound is alone, where it cannot be laid over what is there.
func (p Policy) beside(b Bound) string {
	above := p.Temp
	for _, fetched := range p.Bounds {
		if fetched.At == FetchedAt {
			above = fetched.From
		}
	}
	return filepath.Join(above, b.layerName(), upperFolder)
}
