/* The interpreters' side of contexts, as bytes in the library: contexts.c hands them out. */
	.section .rodata
	.globl loop_python
	.hidden loop_python
loop_python:
	.incbin "runtime/session/loops/python.py"
	.byte 0
	.section .note.GNU-stack,"",%progbits
