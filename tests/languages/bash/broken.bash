echo never printed
if true; then
