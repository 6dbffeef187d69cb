# 03_cancel
#	  Storms of cancel and terminate: whoever is hit, holding or waiting, leaves
#	  locks as they should be.
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
my $node    = fault_node('cancel');
my ($counters, @problems);
my %hits = (cancel => 0, terminate => 0);

$node->start;
prepare_node($node);

my $ledger = start_ledger($node, 2);
start_load($node, tpcb => 4, torture => 4, variable => 3, read => 2);
start_flipper($node);

# One session that hits every few milliseconds for a second; how many it hit.
sub storm
{
	my ($how, $share) = @_;
	my ($hits, $failure) = ask(
		$node, qq{
		SET client_min_messages = warning;
		CREATE TEMP TABLE hits (n int);
		DO \$\$
		DECLARE
			start timestamptz := clock_timestamp();
			hits int := 0;
			n int;
		BEGIN
			WHILE clock_timestamp() < start + interval '1 s' LOOP
				PERFORM pg_stat_clear_snapshot();
				SELECT count(*) INTO n FROM (
					SELECT pg_${how}_backend(pid) AS hit FROM pg_stat_activity
					WHERE usename = 'loader' AND random() < $share) AS s WHERE hit;
				hits := hits + n;
				PERFORM pg_sleep(0.02 * random());
			END LOOP;
			INSERT INTO hits VALUES (hits);
		END \$\$;
		SELECT n FROM hits;});

	push @problems, $failure if defined $failure;
	$hits{$how} += $hits // 0;
	return;
}

my $deadline = time + $seconds;
my $from     = log_from($node);

while (time < $deadline)
{
	storm('cancel', 0.2);
	push @problems, counters_fell($node, \$counters), unbalanced($node);
	storm('terminate', 0.05);
	storm('terminate', 1) if rand() < 0.3;
	push @problems, 'the load came to a halt' unless load_goes_on();
	progress("$hits{cancel} cancelled, $hits{terminate} terminated");
}
# the worker may be terminated like anybody, and comes back
my $worker = worker_pid($node);
kill 'TERM', $worker;
my $patience = time + 30;
sleep 0.05 while (worker_pid($node) // $worker) == $worker && time < $patience;
push @problems, 'the worker did not come back' if time >= $patience;

nothing_wrong("$hits{cancel} cancels and $hits{terminate} terminations hit somebody", @problems);
cmp_ok($hits{$_}, '>', $seconds, "often enough: $_") foreach sort keys %hits;
my $errors = log_since($node, $from);
cmp_ok(scalar(() = $errors =~ /canceling statement due to user request/g),
	'>', $seconds / 2, 'statements ended by it');
cmp_ok(scalar(() = $errors =~ /terminating connection due to administrator command/g),
	'>', $seconds / 2, 'so did sessions');
my $flips = flips($node);
cmp_ok($flips, '>', $seconds, 'settings flipped meanwhile');
nothing_wrong('clients end', end_clients());
nothing_wrong('in the end',
	not_quiet($node), locks_taken($node), not_in_force($node), unbalanced($node),
	missing_rows($node), counters_fell($node, \$counters), corrupt($node, '--parent-check'),
	log_complaints($node, $from));
nothing_wrong('it stops', did_not_end($node));
note sprintf('figures: %d cancels, %d terminations; %d rows committed, %d refused, %d in doubt, %d flips',
	$hits{cancel}, $hits{terminate}, map({ told_count($_) } '+', '-', '?'), $flips);
done_testing();
