cat("never printed\n")
f <- function( {
