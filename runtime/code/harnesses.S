/* The programs around a user's function, as bytes in the library: harness.c has the table of them. */
	.macro text name, file
	.globl \name\()_harness_text
	.hidden \name\()_harness_text
\name\()_harness_text:
	.incbin "\file"
	.globl \name\()_harness_text_end
	.hidden \name\()_harness_text_end
\name\()_harness_text_end:
	.endm

	.section .rodata
	text rust, runtime/code/harness.rs
	text python, runtime/code/harness.py
	text javascript, runtime/code/harness.js
	.section .note.GNU-stack,"",%progbits
