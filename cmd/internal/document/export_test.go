package document

// Updating says that golden examples are written instead of compared.
func Updating() bool { return *update }

// GoldenFile is where the example of a kind is.
var GoldenFile = goldenFile
