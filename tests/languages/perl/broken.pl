print "never printed\n";
sub f {
