args <- commandArgs(trailingOnly = TRUE)
if (identical(args, "fail")) {
  message("no such thing: 42")
  quit(status = 3)
}
if (identical(args, "throw")) stop("thrown on purpose")
input <- paste(readLines(Sys.getenv("WARDER_INPUT"), warn = FALSE, encoding = "UTF-8"), collapse = "")
factor_given <- as.numeric(sub('.*"factor": *([0-9]+).*', "\\1", input))
name <- sub('.*"name": *("[^"]*").*', "\\1", input)
frame <- data.frame(n = scan(file("stdin"), quiet = TRUE))
frame <- frame[order(frame$n), , drop = FALSE]
frame$square <- with(frame, n^2)
write.table(frame, "report.csv", sep = ",", row.names = FALSE, col.names = FALSE)
dir.create("out")
cat(strrep("x", 100000), file = "out/large.txt")
total <- sum(tapply(frame$n, frame$n %% 2, sum))
cat("sum ", total, "\n", sep = "")
cat(paste(args, collapse = "|"), "\n", sep = "")
result <- file(Sys.getenv("WARDER_RESULT"), "w", raw = TRUE)
cat(sprintf('{"scaled": %d, "name": %s, "sorted": [%s]}', total * factor_given, name,
            paste(frame$n, collapse = ",")), file = result)
close(result)
