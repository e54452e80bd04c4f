/* The shared object that a zygote loads (jail/inside/forked.c) as bytes in the library: jail/forks.c puts them into a sealed memfd. */
	.section .rodata
	.balign 16
	.globl jail_forked_image
	.hidden jail_forked_image
jail_forked_image:
	.incbin "forked.so"
	.globl jail_forked_image_end
	.hidden jail_forked_image_end
jail_forked_image_end:
	.section .note.GNU-stack,"",%progbits
