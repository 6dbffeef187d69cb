# 02_stop
#	  Processes stop in the midst of holding locks, and go on later: the others
#	  wait and nobody is forgotten.
#
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib", "$FindBin::RealBin/../t/lib";

use FaultChecks;
use FaultLedger;
use FaultLoad;
use LwtuneCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $seconds = option('SECONDS', 60);
my $node    = fault_node('stop');
my ($counters, $stops, $worker_stops, @problems) = (undef, 0, 0);

$node->start;
prepare_node($node);

#
# A holder that certainly is one.
#
foreach my $mode ('exclusive', 'shared')
{
	is(behind_stopped($node, $mode, 4),
		'100 100 100 100', "$mode: four wait for a holder that is stopped, and get the lock when it goes on");
}

#
# Any process, at any moment.
#
my $ledger = start_ledger($node, 2);
start_load($node, tpcb => 4, torture => 4, variable => 3, read => 1);
start_flipper($node);

# process id => when to let it go on
my %stopped;
my $deadline = time + $seconds;
my $look     = 0;
my $from     = log_from($node);

while (time < $deadline)
{
	my %titles   = server_processes($node);
	my @backends = grep { $titles{$_} =~ /\[local\]/ && !$stopped{$_} } sort keys %titles;
	my ($worker) = grep { $titles{$_} =~ /lwtune worker/ && !$stopped{$_} } keys %titles;

	foreach my $pid (@backends ? $backends[ rand @backends ] : (),
		defined $worker && rand() < 0.1 ? $worker : ())
	{
		next unless kill 'STOP', $pid;
		$stopped{$pid} = time + 0.01 + rand 0.49;
		$stops++;
		$worker_stops++ if defined $worker && $pid == $worker;
	}
	sleep rand 0.1;
	foreach my $pid (grep { $stopped{$_} < time } keys %stopped)
	{
		kill 'CONT', $pid;
		delete $stopped{$pid};
	}
	if (time > $look)
	{
		kill 'CONT', keys %stopped;
		%stopped = ();
		push @problems, counters_fell($node, \$counters), unbalanced($node);
		$look = time + 5;
		progress("$stops processes stopped");
	}
}
kill 'CONT', keys %stopped;
nothing_wrong("$stops times a process was stopped, the worker $worker_stops times among them",
	@problems);
cmp_ok($stops, '>', $seconds / 2, 'often enough');
cmp_ok($worker_stops, '>', 0, 'the worker too');
my $flips = flips($node);
cmp_ok($flips, '>', $seconds, 'settings flipped meanwhile');
nothing_wrong('clients end', end_clients());
nothing_wrong('in the end',
	not_quiet($node), locks_taken($node), not_in_force($node), unbalanced($node),
	missing_rows($node), counters_fell($node, \$counters), corrupt($node, '--parent-check'),
	log_complaints($node, $from));
nothing_wrong('it stops', did_not_end($node));
note sprintf('figures: %d stops, %d of the worker; %d rows committed, %d flips',
	$stops, $worker_stops, told_count('+'), $flips);
done_testing();
