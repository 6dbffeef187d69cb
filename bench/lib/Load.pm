# Load.pm - contention on one lock, by the functions of the load module.
#
# statements() has pgbench call lwtune_torture_loop, 20,000 rounds at a time, as
# clients do that have other things to do in between.
#
# contend() is for what is counted in the server's processes.
# Each session runs lwtune_torture_run once for a whole slice.  So no client
# program competes for the processors while the lock is fought for, as it would
# if statements were sent by the thousand rounds, and the server itself takes
# the time that the rounds needed.

package Load;

use strict;
use warnings;

our $tranche = 'bench';

# Before the slice proper, under the same load: processes get to their
# processors, and whatever adapts to the load does.
my $lead_in = 0.1;

sub prepare
{
	my ($server) = @_;

	$server->query("SELECT lwtune_torture_create('$tranche')");
}

sub run_query
{
	my ($shape, $seconds) = @_;
	my ($inside, $outside) = split m{/}, $shape;

	# the subquery is evaluated before the clock is read for the last time
	return sprintf(
		"SELECT done, extract(epoch FROM clock_timestamp() - statement_timestamp()) "
		  . "FROM (SELECT lwtune_torture_run('%s', 'exclusive', %d, %d, %d) AS done OFFSET 0) AS slice",
		$tranche, $inside, $outside, $seconds * 1000);
}

# contend($server, $shape, $clients, $seconds): all clients on one lock.
# { rate => rounds per second, sleeps => voluntary context switches per round }
sub contend
{
	my ($server, $shape, $clients, $seconds) = @_;
	my @sessions = $server->sessions($clients);
	my ($rate, $rounds, $sleeps) = (0, 0, 0);

	$sleeps -= $_->sleeps for @sessions;
	$_->send_query(run_query($shape, $lead_in), run_query($shape, $seconds)) for @sessions;
	for my $answer (Session::wait_all(@sessions))
	{
		my ($before) = split / /, $answer->[0];
		my ($done, $elapsed) = split / /, $answer->[1];

		$rate += $done / $elapsed;
		$rounds += $before + $done;
	}
	$sleeps += $_->sleeps for @sessions;
	return { rate => $rate, sleeps => $sleeps / $rounds };
}

# The rounds of each statement: some milliseconds.
my $rounds_per_statement = 20000;

# statements($server, $shape, $clients, $seconds): rounds per second.
sub statements
{
	my ($server, $shape, $clients, $seconds) = @_;
	my ($inside, $outside) = split m{/}, $shape;
	my $script = "$server->{dir}/loop.sql";

	open(my $handle, '>', $script) or die "cannot write $script: $!\n";
	print $handle "SELECT lwtune_torture_loop('$tranche', 'exclusive', $inside, $outside, $rounds_per_statement);\n";
	close $handle or die "cannot write $script: $!\n";
	return $rounds_per_statement * $server->pgbench_rate('-n', '-f', $script, '-c', $clients, '-T', $seconds);
}

1;
