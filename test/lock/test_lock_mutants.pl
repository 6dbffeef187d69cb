#!/usr/bin/perl
#
# test_lock_mutants.pl
#	  Every broken lock core must fall, and its replay must fail alike.
#
# Runs where it was copied to, beside mutants/.
#
# A mutant is the deterministic scheduler with one mutation compiled into the
# core.  A few are also run under ThreadSanitizer, to see that it sees.
#
use strict;
use warnings;
use File::Basename qw(dirname);

my $dir = dirname(__FILE__);
my $mutate = "$dir/../mutate";
my ($tests, $failed, @hardest) = (0, 0);

$| = 1;

sub ok
{
	my ($passed, $name) = @_;

	$tests++;
	$failed++ if !$passed;
	print $passed ? 'ok' : 'not ok', " $tests - $name\n";
	return;
}

sub first_line
{
	my (@command) = @_;

	open(my $in, '-|', @command) or die "could not run $command[0]: $!\n";
	my $line = <$in> // '';
	1 while <$in>;
	close($in);
	chomp $line;
	return $line;
}

sub hunt
{
	my ($name) = @_;
	my $what = first_line($mutate, 'what', $name);
	my $harmless = $what =~ s/^harmless //;
	my ($outcome, $schedules, $seconds, $schedule, $failure) =
	  split(/ /, first_line("$dir/mutants/$name", 'hunt', $harmless ? 'brief' : ()), 5);

	if ($harmless)
	{
		ok($outcome eq 'missed', "$name is harmless: $what");
		return 0;
	}
	if ($outcome ne 'caught')
	{
		ok(0, "$name: $what: not caught in $schedules schedules");
		return 0;
	}
	ok(1, "$name: $what: falls after $schedules schedules, $seconds s: $failure");
	push @hardest, [ $schedules, $name, $seconds ];

	# the same failure again, from the name of the schedule alone
	open(my $replay, '-|', "$dir/mutants/$name", 'replay', $schedule) or die "could not run $name: $!\n";
	my $same = 0;
	while (my $line = <$replay>)
	{
		$same = 1 if index($line, "FAILED: $failure") >= 0;
	}
	close($replay);
	ok(0, "$name: $schedule replayed does not fail alike") if !$same;
	return 1;
}

my @names = split(/\n/, `$mutate names`);
my $caught = 0;

$caught += hunt($_) for @names;

for my $path (sort glob("$dir/mutants/tsan_*"))
{
	my ($name) = $path =~ /tsan_(\w+)$/ or next;
	local $ENV{TSAN_OPTIONS} = 'halt_on_error=1';

	# no randomization of addresses, where the library cannot cope with it
	my $prefix = system('setarch -R true 2>/dev/null') == 0 ? 'setarch -R' : '';
	my $output = `$prefix $path 15 2>&1`;

	ok($output =~ /WARNING: ThreadSanitizer: data race/, "$name: ThreadSanitizer sees a race");
}

@hardest = sort { $b->[0] <=> $a->[0] } @hardest;
printf "# %d of the mutants caught; the last to fall: %s\n", $caught,
  join(', ', map { "$_->[1] after $_->[0] schedules ($_->[2] s)" } grep { defined } @hardest[ 0 .. 2 ]);
print "# figure: mutations of the lock core caught = $caught\n";
print "1..$tests\n";
exit($failed > 0);
