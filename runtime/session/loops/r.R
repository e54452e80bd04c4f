# The loop of an R context. The keeper of the session sends this text as the first message of descriptor 4, and then pieces of code; frames.h
# says how. R itself cannot read or write a descriptor, so dd does, once for each message. The functions here are in an environment of their
# own over R's base, so that what the pieces define does not reach them.
local({
	MAGIC <- as.raw(c(0x57, 0x43, 0x54, 0x58)); BODY <- 65536L - 16L; TEXT_MOST <- 1048576L
	PIECE <- 1L; INPUT <- 2L; READY <- 3L; BEGUN <- 4L; SHOWN <- 5L; ASKS <- 6L; DONE <- 7L; TAKEN <- 8L
	MORE <- 1L; AT_END <- 2L
	piece <- 0L; count <- 0L; plots <- 0L

	# ---- frames ----

	# dd makes one write of a message. An interrupt that came before the trap has ended the shell, and nothing was written.
	put <- function(message) {
		for (i in 1:3) {
			to <- pipe("trap '' INT; exec dd obs=65536 2>/dev/null >&4", "wb")
			try(writeBin(message, to), silent = TRUE)
			if (identical(as.integer(close(to)), 0L)) return(invisible())
		}
		quit("no", 0L) # the keeper is gone
	}

	int <- function(n) writeBin(as.integer(n), raw(), size = 4L, endian = "little")

	send <- function(kind, text) {
		body <- charToRaw(enc2utf8(text))
		repeat {
			more <- length(body) > BODY
			part <- if (more) body[seq_len(BODY)] else body
			put(c(MAGIC, int(kind), int(if (kind == READY) 0L else piece), int(if (more) MORE else 0L), part))
			if (!more) break
			body <- body[-seq_len(BODY)]
		}
	}

	# A whole text, as list(kind, piece, flags, body). Ends this process if the keeper is gone.
	receive <- function() {
		parts <- list()
		repeat {
			from <- pipe("trap '' INT; exec dd bs=65536 count=1 <&4 2>/dev/null", "rb")
			message <- readBin(from, "raw", 65536L)
			close(from)
			if (length(message) < 16L) quit("no", 0L)
			head <- readBin(message[5:16], "integer", 3L, endian = "little")
			parts[[length(parts) + 1L]] <- message[-(1:16)]
			if (bitwAnd(head[3L], MORE) == 0L) break
		}
		list(kind = head[1L], piece = head[2L], flags = head[3L], body = do.call(c, parts))
	}

	text_of <- function(bytes) {
		text <- rawToChar(bytes[bytes != 0])
		Encoding(text) <- "UTF-8"
		if (validUTF8(text)) text else iconv(text, "UTF-8", "UTF-8", sub = "byte")
	}

	# ---- JSON ----

	quote_text <- function(text) {
		text <- enc2utf8(paste(text, collapse = "\n"))
		if (!validUTF8(text)) text <- iconv(text, "UTF-8", "UTF-8", sub = "byte")
		if (nchar(text) > TEXT_MOST) text <- paste0(substr(text, 1L, TEXT_MOST), "...")
		text <- gsub("\\", "\\\\", text, fixed = TRUE)
		text <- gsub("\"", "\\\"", text, fixed = TRUE)
		for (n in c(1:31, 127L)) {
			control <- intToUtf8(n)
			if (grepl(control, text, fixed = TRUE)) text <- gsub(control, sprintf("\\u%04x", n), text, fixed = TRUE)
		}
		paste0("\"", text, "\"")
	}

	object <- function(...) {
		members <- Filter(Negate(is.null), list(...))
		paste0("{", paste0("\"", names(members), "\":", unlist(members), collapse = ","), "}")
	}

	DIGITS <- c(LETTERS, letters, 0:9, "+", "/")

	base64 <- function(bytes) {
		left <- (3L - length(bytes) %% 3L) %% 3L
		n <- matrix(as.integer(c(bytes, raw(left))), 3L)
		whole <- n[1L, ] * 65536L + n[2L, ] * 256L + n[3L, ]
		digits <- rbind(whole %/% 262144L, whole %/% 4096L %% 64L, whole %/% 64L %% 64L, whole %% 64L)
		text <- DIGITS[digits + 1L]
		if (left) text[length(text) + 1L - seq_len(left)] <- "="
		paste(text, collapse = "")
	}

	# ---- values and plots ----

	printed <- function(value) utils::capture.output(if (isS4(value)) methods::show(value) else print(value))

	escape <- function(text) gsub(">", "&gt;", gsub("<", "&lt;", gsub("&", "&amp;", text, fixed = TRUE), fixed = TRUE), fixed = TRUE)

	ROWS <- 60L

	table_of <- function(value) {
		shown <- utils::head(value, ROWS)
		cells <- vapply(shown, function(column) escape(format(column)), character(nrow(shown)))
		cells <- matrix(cells, nrow(shown))
		rows <- if (nrow(shown)) paste0("<tr><th>", escape(row.names(shown)), "</th>",
			apply(cells, 1L, function(row) paste0("<td>", row, "</td>", collapse = "")), "</tr>", collapse = "") else ""
		paste0("<table><tr><th></th>", paste0("<th>", escape(names(shown)), "</th>", collapse = ""), "</tr>", rows, "</table>",
			if (nrow(value) > ROWS) sprintf("<p>%d rows</p>", nrow(value)) else "")
	}

	bundle <- function(value) {
		html <- if (is.data.frame(value)) tryCatch(quote_text(table_of(value)), error = function(e) NULL)
		object("text/html" = html, "text/plain" = quote_text(printed(value)))
	}

	show_text <- function(text) {
		flush(stdout())
		send(SHOWN, text)
		repeat {
			said <- receive()
			if (said$kind == TAKEN && said$piece == piece) return(invisible())
		}
	}

	open_device <- function(...) {
		plots <<- plots + 1L
		grDevices::png(file.path(tempdir(), paste0("plot", plots, ".%03d.png")), width = 672L, height = 480L, type = "cairo")
	}

	show_plots <- function() {
		if (length(grDevices::dev.list()) == 0L) return(invisible())
		grDevices::graphics.off()
		for (file in sort(list.files(tempdir(), "^plot.*[.]png$", full.names = TRUE))) {
			bytes <- readBin(file, "raw", file.size(file))
			unlink(file)
			show_text(object("image/png" = quote_text(base64(bytes)), "text/plain" = quote_text("a plot")))
		}
	}

	# ---- what pieces call ----

	display <- function(...) {
		for (value in list(...)) suspendInterrupts(show_text(bundle(value)))
		invisible()
	}

	ask <- function(prompt = "") {
		flush(stdout())
		suspendInterrupts(send(ASKS, prompt))
		repeat {
			said <- receive()
			if (said$kind == INPUT && said$piece == piece) break
		}
		if (bitwAnd(said$flags, AT_END)) stop("there is no more input", call. = FALSE)
		text_of(said$body)
	}

	# ---- a piece ----

	place_of <- function(call) {
		at <- attr(call, "srcref")
		if (is.null(at)) "" else sprintf(" at %s, line %d", attr(at, "srcfile")$filename, as.integer(at)[1L])
	}

	# The calls of the piece: without those of the loop, which come first, and those of the handler, which come last.
	trace_of <- function(error, calls, own) {
		if (inherits(error, "syntaxError")) return(conditionMessage(error))
		calls <- if (length(calls) > own) calls[(own + 1L):length(calls)] else list()
		at_top <- length(calls) < 2L || is.null(conditionCall(error))
		head <- if (at_top) "Error: " else paste0("Error in ", deparse(conditionCall(error))[1L], ": ")
		lines <- vapply(calls, function(call) paste0("  ", deparse(call)[1L], place_of(call)), "")
		paste(c(paste0(head, conditionMessage(error)), lines), collapse = "\n")
	}

	failure <- function(name, value, trace) object("name" = quote_text(name), "value" = quote_text(value), "traceback" = quote_text(trace))

	evaluate <- function(text) {
		name <- sprintf("<piece %d>", count)
		lines <- srcfilecopy(name, strsplit(text, "\n", fixed = TRUE)[[1L]])
		code <- tryCatch(parse(text = text, srcfile = lines, keep.source = TRUE), error = function(e)
			stop(structure(list(message = conditionMessage(e), call = NULL), class = c("syntaxError", "error", "condition"))))
		found <- list(visible = FALSE)
		for (i in seq_along(code)) {
			if (found$visible) print(found$value)
			own <<- sys.nframe() + 3L
			found <- withVisible(eval(code[[i]], globalenv()))
		}
		show_plots()
		if (found$visible && !is.null(found$value)) bundle(found$value)
	}

	own <- 0L

	run <- function(text) {
		calls <- NULL
		tryCatch(
			withCallingHandlers(
				allowInterrupts({ send(BEGUN, ""); list(value = evaluate(text)) }),
				error = function(e) calls <<- utils::head(sys.calls(), -2L)),
			interrupt = function(e) list(error = failure("Interrupted", "the piece was interrupted", "interrupted")),
			error = function(e) list(error = failure(class(e)[1L], conditionMessage(e), trace_of(e, calls, own))))
	}

	# One that came earlier, once at most.
	forget_interrupts <- function() tryCatch(allowInterrupts(Sys.sleep(0)), interrupt = function(e) NULL)

	options(warn = 1L, device = open_device)
	attach(list(display = display, readline = ask), name = "warder", warn.conflicts = FALSE)
	suspendInterrupts({
		send(READY, object("interpreter" = quote_text(paste("R", getRversion()))))
		repeat {
			said <- receive()
			if (said$kind != PIECE) next
			piece <- said$piece; count <- count + 1L
			forget_interrupts()
			found <- run(text_of(said$body))
			flush(stdout()); flush(stderr())
			send(DONE, object("status" = quote_text(if (is.null(found$error)) "ok" else "error"), "executionCount" = count,
				"value" = found$value, "error" = found$error))
		}
	})
})
