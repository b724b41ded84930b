// Package journal keeps an append-only list of events on disk.
//
// The file is journal.jsonl, one JSON object a line, made to be read by people too:
//
//	{"format":"orch-journal","v":3,"created":"…","sum":"…"}
//	{"v":3,"seq":1,"at":"…","prev":"…","event":{…},"sum":"…"}
//
// The first line is the header. "sum" is the first 16 bytes of the SHA-256 of the line
// up to it, in hex; "prev" is the sum of the line before, so that the lines are a chain.
// The header, "v" and "sum" keep their form in every version to come.
//
// What is written is never changed. [Journal.Append] returns when the record is safe on
// disk; a crash before that leaves at most a torn tail: a last line that is incomplete
// or damaged, with no sound record behind it. [Open] cuts it, keeps it aside and reports
// it, and so it does with a last line that is there twice. Damage anywhere else is a
// [*CorruptError], and nothing is touched; [Mend] cuts to what is sound, and keeps the rest.
//
// There is one writer at a time: it has a lock on the file, and looks before each write whether
// the file is still its own. Readers need no lock. Versions 1 and 2 have the same form, with events of another shape; an orch that
// knows no other refuses what this one has written.
package journal
