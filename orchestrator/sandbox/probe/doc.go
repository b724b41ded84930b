// Package probe tries what a sandbox promises: a program within the bounds does all that it can to get out, on things
// that were made for this, and what is outside is compared afterwards. Nothing is believed of what the program says but
// what only it can know.
package probe
