use strict;
use warnings;
use JSON::PP;
use List::Util qw(sum);

if (@ARGV && $ARGV[0] eq 'fail') { print STDERR "no such thing: 42\n"; exit 3 }
die "thrown on purpose\n" if @ARGV && $ARGV[0] eq 'throw';
open my $in, '<:raw', $ENV{WARDER_INPUT} or die $!;
my $given = decode_json(do { local $/; <$in> });
my @numbers = sort { $a <=> $b } map { chomp; $_ + 0 } <STDIN>;
open my $report, '>', 'report.csv' or die $!;
print $report "$_," . $_ ** 2 . "\n" for @numbers;
close $report;
mkdir 'out';
open my $large, '>', 'out/large.txt' or die $!;
print $large 'x' x 100000;
my $total = sum(@numbers);
print "sum $total\n", join('|', @ARGV), "\n";
open my $out, '>:raw', $ENV{WARDER_RESULT} or die $!;
print $out encode_json({ scaled => $total * $given->{factor}, name => $given->{name}, sorted => \@numbers });
