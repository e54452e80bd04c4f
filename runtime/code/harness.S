/* The Rust that stands around a user's function, as bytes in the library: rust_source.c hands it out. */
	.section .rodata
	.globl rust_harness_text
	.hidden rust_harness_text
rust_harness_text:
	.incbin "runtime/code/harness.rs"
	.globl rust_harness_text_end
	.hidden rust_harness_text_end
rust_harness_text_end:
	.section .note.GNU-stack,"",%progbits
