/* The jail's init as bytes in the library: jail/spawn.c puts them into a sealed memfd. */
	.section .rodata
	.balign 16
	.globl jail_init_image
	.hidden jail_init_image
jail_init_image:
	.incbin "init.elf"
	.globl jail_init_image_end
	.hidden jail_init_image_end
jail_init_image_end:
	.section .note.GNU-stack,"",%progbits
