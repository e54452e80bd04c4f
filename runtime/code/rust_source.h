/*
 * rust_source: what a piece of Rust has to be to run as a function of JSON to JSON, and what stands around it.
 *
 * The pipeline writes two files into one directory: the user's source, unchanged, as RUST_SOURCE_FILE, and its harness
 * (harness.h) as RUST_HARNESS_FILE. Only the harness is compiled by name, from that directory:
 *
 *   rustc --edition 2021 --error-format=json --color never --emit=metadata -o check.rmeta harness.rs      (check)
 *   rustc --edition 2021 --error-format=json --color never -o program harness.rs                          (build)
 *
 * and includes the user's file: diagnostics name main.rs with its own lines (those about a missing or differently typed
 * `run` name the harness). It needs nothing but std, and Rust 1.63 or later. At run time the program reads the path in
 * WARDER_INPUT (absent or empty: null) and writes the path in WARDER_RESULT; /dev/fd/N is the open descriptor N itself.
 * Pure, no global state, any thread. Private to runtime/code.
 */
#ifndef WARDER_RUNTIME_CODE_RUST_SOURCE_H
#define WARDER_RUNTIME_CODE_RUST_SOURCE_H

#include <stddef.h>

#include "base/error.h"

#define RUST_SOURCE_FILE  "main.rs"
#define RUST_HARNESS_FILE "harness.rs"

/* Refuses what could only fail or mislead in the harness: a function `main` at the top (the harness has it), attributes of the
 * whole file (`#![...]`) and, at the top, comments that document it (`//!`, `/` `*!`). Comments, strings and characters are
 * told from code; whether it compiles is the compiler's to say, so that empty source is accepted.
 * Returns 0; -1 with *err (INVALID_REQUEST, the text with line and remedy; INTERNAL on want of memory). */
int rust_source_validate(const char *source, size_t len, struct warder_error *err);

#endif
