# 01_kill
#	  Processes are killed under load, and the server stopped at once: it comes
#	  back with every committed row, again and again.
#
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib", "$FindBin::RealBin/../t/lib";

use FaultChecks;
use FaultLedger;
use FaultLoad;
use List::Util qw(shuffle);
use LwtuneCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $recoveries = option('RECOVERIES', 50);
my $node       = fault_node('kill');
my (%done, $counters);

$node->start;
prepare_node($node);

my $ledger = start_ledger($node, 2);
start_load($node, tpcb => 4, torture => 3, variable => 3, read => 1);
start_flipper($node);

# Of the server's processes, those with such a title.
sub pids_of
{
	my ($title) = @_;
	my %titles = server_processes($node);

	return sort grep { $titles{$_} =~ $title } keys %titles;
}

sub any_of
{
	my (@list) = @_;
	return $list[ rand @list ];
}

# Each kills something; those that it killed.
my %faults = (
	'a backend is killed' => sub { kill 'KILL', any_of(pids_of(qr/\[local\]/)) },
	'a backend is killed in the midst of work' => sub {
		kill 'KILL', any_of(pids_of(qr/\[local\] (SELECT|UPDATE|INSERT|COMMIT)/));
	},
	'three backends are killed' => sub {
		kill 'KILL', (shuffle(pids_of(qr/\[local\]/)))[ 0 .. 2 ];
	},
	'the worker is killed' => sub { kill 'KILL', pids_of(qr/lwtune worker/) },
	'an auxiliary process is killed' => sub {
		kill 'KILL', any_of(pids_of(qr/: (checkpointer|background writer|walwriter)/));
	},
	'immediate shutdown' => sub { return $node->stop('immediate') ? 1 : 0 });
my @order = (
	'a backend is killed in the midst of work', 'the worker is killed',
	'immediate shutdown',                       'three backends are killed',
	'a backend is killed in the midst of work', 'an auxiliary process is killed',
	'immediate shutdown',                       'a backend is killed');

# Kill, and see the crash; true if there was one.
sub crash
{
	my ($fault, $from) = @_;
	my $deadline;

	# now and then the victim has just gone by itself
	foreach (1 .. 20)
	{
		next unless $faults{$fault}->();
		if ($fault eq 'immediate shutdown')
		{
			$node->start;
			return 1;
		}
		$deadline = time + 3;
		while (time < $deadline)
		{
			return 1 if log_since($node, $from) =~ /all server processes terminated; reinitializing/;
			sleep 0.02;
		}
	}
	return 0;
}

foreach my $round (1 .. $recoveries)
{
	my $fault = $order[ ($round - 1) % @order ];
	my @problems;

	push @problems, 'the load came to a halt' unless load_goes_on();
	push @problems, counters_fell($node, \$counters) foreach 1 .. 2;
	sleep rand 0.5;
	my $from  = log_from($node);
	my $start = time;
	if (crash($fault, $from))
	{
		push @problems, not_up($node, $from);
		$done{$fault}++;
	}
	else
	{
		push @problems, 'there was no crash';
	}
	undef $counters;
	my $up = time - $start;
	push @problems, not_in_force($node), unbalanced($node), missing_rows($node);
	push @problems, log_complaints($node, $from, 1);
	# the one that takes long, and which the last of them would notice as well
	push @problems, corrupt($node) if $round % 5 == 0;
	nothing_wrong(sprintf('recovery %d, %s, up after %.1f s', $round, $fault, $up), @problems);
	progress("$round of $recoveries recoveries");
	last unless defined((ask($node, 'SELECT 1'))[0]);
}

nothing_wrong('the load goes on', load_goes_on() ? () : 'it came to a halt');
my $flips = flips($node);
cmp_ok($flips, '>', 2 * $recoveries, 'settings flipped all the while');
nothing_wrong('clients end', end_clients());
nothing_wrong('in the end',
	not_quiet($node), locks_taken($node), not_in_force($node), unbalanced($node),
	missing_rows($node), corrupt($node, '--parent-check'), log_complaints($node, 0, 1));
nothing_wrong('it stops', did_not_end($node));
note sprintf('figures: %s; %d rows committed, %d in doubt, %d flips',
	join(', ', map { "$_ $done{$_}" } sort keys %done),
	told_count('+'), told_count('?'), $flips);
done_testing();
