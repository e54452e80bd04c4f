/* The files of the page, as bytes in the program, and how many each has. */
	.section .rodata
.macro file name path
	.globl page_\name, page_\name\()_size
	.hidden page_\name, page_\name\()_size
page_\name:
	.incbin "\path"
page_\name\()_end:
	.balign 8
page_\name\()_size:
	.quad page_\name\()_end - page_\name
.endm
	file index "host/front/page/index.html"
	file style "host/front/page/style.css"
	file script "host/front/page/app.js"
	file terminal "host/front/page/terminal.js"
	file result "host/front/page/result.css"
	.section .note.GNU-stack,"",@progbits
