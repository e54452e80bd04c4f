/* The loops of the interpreters, as bytes in the library. keeper_context.c sends them to new contexts. */
	.section .rodata
	.globl loop_python
	.hidden loop_python
loop_python:
	.incbin "runtime/session/loops/python.py"
	.byte 0
	.globl loop_javascript
	.hidden loop_javascript
loop_javascript:
	.incbin "runtime/session/loops/javascript.js"
	.byte 0
	.globl loop_r
	.hidden loop_r
loop_r:
	.incbin "runtime/session/loops/r.R"
	.byte 0
	.globl loop_bash
	.hidden loop_bash
loop_bash:
	.incbin "runtime/session/loops/bash.sh"
	.byte 0
	.section .note.GNU-stack,"",%progbits
