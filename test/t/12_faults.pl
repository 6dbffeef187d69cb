# 12_faults
#	  A short look at what test/faults does at length: a crash of each kind, a
#	  holder that is stopped, and a storm of cancels, under load and with every
#	  setting on and flipping.
#
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib", "$FindBin::RealBin/../fault/lib";

use FaultChecks;
use FaultLedger;
use FaultLoad;
use LwtuneCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $node = fault_node('faults');
my ($counters, $from);

$node->start;
prepare_node($node);

sub all_is_well
{
	my ($name, @problems) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	push @problems, 'the load came to a halt' unless load_goes_on();
	return nothing_wrong($name, @problems, not_in_force($node), unbalanced($node),
		missing_rows($node));
}

start_ledger($node, 2);
start_load($node, tpcb => 2, torture => 2, variable => 2);
start_flipper($node);
all_is_well('under load', counters_fell($node, \$counters));

# a holder that is stopped
is(behind_stopped($node, 'exclusive', 1), '100', 'who waited for a stopped holder gets the lock');

# cancels
$from = log_from($node);
my $storm = $node->safe_psql(
	'postgres', q{
	SET client_min_messages = warning;
	DO $$
	BEGIN
		FOR i IN 1..100 LOOP
			PERFORM pg_stat_clear_snapshot();
			PERFORM pg_cancel_backend(pid) FROM pg_stat_activity WHERE usename = 'loader' AND random() < 0.3;
			PERFORM pg_sleep(0.01);
		END LOOP;
	END $$;});
cmp_ok(scalar(() = log_since($node, $from) =~ /canceling statement due to user request/g),
	'>', 5, 'a storm of cancels');
all_is_well('after it', counters_fell($node, \$counters), log_complaints($node, 0));

# crashes
foreach my $fault ('a backend is killed', 'the worker is killed', 'immediate shutdown')
{
	$from = log_from($node);
	if ($fault eq 'immediate shutdown')
	{
		$node->stop('immediate');
		$node->start;
	}
	else
	{
		foreach (1 .. 5)
		{
			my $wanted   = $fault =~ /worker/ ? qr/lwtune worker/ : qr/loader.*\[local\]/;
			my %titles   = server_processes($node);
			my ($victim) = grep { $titles{$_} =~ $wanted } keys %titles;
			kill 'KILL', $victim if defined $victim;
			sleep 0.5;
			last if log_since($node, $from) =~ /terminated by signal 9/;
		}
	}
	all_is_well($fault, not_up($node, $from), log_complaints($node, $from, 1));
}

cmp_ok(flips($node), '>', 20, 'settings flipped all the while');
nothing_wrong('clients end', end_clients());
nothing_wrong('in the end',
	not_quiet($node), locks_taken($node), not_in_force($node), unbalanced($node),
	missing_rows($node), corrupt($node));
nothing_wrong('it stops', did_not_end($node));
done_testing();
