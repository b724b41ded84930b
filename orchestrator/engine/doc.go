// Package engine has the words between the orchestrator, which decides, and an engine, which
// has one turn of an attempt done by an agent.
//
// A [Job] says what is to be done and a [Work] what was left; both are plain data that survive
// JSON, so that an engine may be elsewhere. What runs turns here is in package local below; a
// second engine is a package beside it that passes enginetest.
package engine
