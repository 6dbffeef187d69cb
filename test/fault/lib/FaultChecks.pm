# FaultChecks
#	  What must be true after a fault.  Each check returns what is wrong, in
#	  words, and nothing if all is well.
#
package FaultChecks;

use strict;
use warnings;

use Exporter 'import';
use FaultLoad;
use IPC::Run;
use JSON::PP ();
use LwtuneCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

our @EXPORT = qw(
  ask
  not_in_force
  unbalanced
  corrupt
  counters_fell
  not_quiet
  locks_taken
  behind_stopped
  not_up
  did_not_end
  log_complaints
  nothing_wrong
);

# Longer than anything takes here that is not stuck.
my $bound = 60;

sub nothing_wrong
{
	my ($name, @problems) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is_deeply(\@problems, [], $name) || diag(map { "$_\n" } @problems);
}

# The answer, or undef and the reason if there is none in time.
sub ask
{
	my ($node, $question) = @_;
	my ($out, $err, $late) = ('', '', 0);
	my $status = $node->psql(
		'postgres', $question,
		stdout    => \$out,
		stderr    => \$err,
		timeout   => $bound,
		timed_out => \$late);

	return (undef, "no answer in $bound s to: $question") if $late;
	return (undef, "\"$err\" to: $question") if $status != 0;
	return ($out, undef);
}

# A check that is an SQL expression for what is wrong; empty is well.
sub wrong_in_sql
{
	my ($node, $question) = @_;
	my ($answer, $failure) = ask($node, $question);

	return $failure if defined $failure;
	return $answer eq '' ? () : $answer;
}

sub not_in_force
{
	my ($node) = @_;
	return wrong_in_sql(
		$node, q{
		SELECT 'lwtune is not in force: ' || string_agg(function || ' ' || state, ', ')
		FROM lwtune_status HAVING count(*) < 10 OR bool_or(state <> 'redirected')});
}

# In one statement, so in one snapshot: may be asked under load.
sub unbalanced
{
	my ($node) = @_;
	return wrong_in_sql(
		$node, q{
		SELECT format('balances differ: accounts %s, branches %s, tellers %s, history %s', a, b, t, h)
		FROM (SELECT (SELECT sum(abalance) FROM pgbench_accounts) AS a,
					 (SELECT sum(bbalance) FROM pgbench_branches) AS b,
					 (SELECT sum(tbalance) FROM pgbench_tellers) AS t,
					 (SELECT coalesce(sum(delta), 0) FROM pgbench_history) AS h) AS s
		WHERE (a, b, t) IS DISTINCT FROM (h, h, h)});
}

# Tables and indexes as pg_amcheck sees them.
sub corrupt
{
	my ($node, @options) = @_;
	my $out  = '';
	my $done = eval {
		IPC::Run::run(
			[
				'pg_amcheck', '-h', $node->host, '-p', $node->port, '-d', 'postgres',
				'--heapallindexed', @options
			],
			'<', \undef, '>&', \$out,
			IPC::Run::timeout(5 * $bound));
	};
	return () if $done && $out eq '';
	return 'pg_amcheck: ' . ($out ne '' ? substr($out, 0, 2000) : $@ || 'failed without a word');
}

# Counters rise; $last is the caller's, and undef in it means a new start.
sub counters_fell
{
	my ($node, $last) = @_;
	my ($json, $failure) = ask($node,
		q{SELECT jsonb_object_agg(tranche, to_jsonb(s) - 'tranche') FROM lwtune_stats AS s});
	my @fell;

	return $failure if defined $failure;
	my $now    = JSON::PP->new->decode($json);
	my $before = $$last;
	$$last = $now;
	return () unless defined $before;
	foreach my $tranche (sort keys %$before)
	{
		foreach my $counter (sort keys %{ $before->{$tranche} })
		{
			my ($was, $is) = ($before->{$tranche}{$counter}, $now->{$tranche}{$counter});
			next if !defined $was;
			push @fell, "$tranche.$counter went from $was to " . ($is // 'nothing')
			  if !defined $is || ($counter eq 'stats_reset' ? $is ne $was : $is < $was);
		}
	}
	return @fell;
}

# When all clients have gone, so have all backends, and nobody waits for a lock.
sub not_quiet
{
	my ($node, $seconds) = @_;
	my $deadline = time + ($seconds // 30);
	my @problems;

	do
	{
		@problems = wrong_in_sql(
			$node, q{
			SELECT 'still there: ' || string_agg(
				concat_ws(' ', pid, backend_type, wait_event_type, wait_event, left(query, 60)), ', ')
			FROM pg_stat_activity
			WHERE pid <> pg_backend_pid()
			  AND (backend_type IN ('client backend', 'parallel worker') OR wait_event_type = 'LWLock')
			HAVING count(*) > 0});
		sleep 0.1 if @problems;
	} while (@problems && time < $deadline);
	return @problems;
}

# Whatever became of their holders, locks must be free.
sub locks_taken
{
	my ($node) = @_;
	return wrong_in_sql(
		$node, q{
		DO $$
		BEGIN
			PERFORM lwtune_torture_create('fault');
			FOR lock IN 0..3 LOOP
				PERFORM lwtune_torture_acquires('fault', 'exclusive', 1, lock);
			END LOOP;
		END $$});
}

# Stop a process that holds a lock, and see that so many others wait for as long
# as it is stopped; what they got in the end, or what went wrong.
sub behind_stopped
{
	my ($node, $mode, $n) = @_;
	my $holder = start_query($node, "SELECT lwtune_torture_hold('fault', '$mode', 60000, 3)");
	my $held   = q{query ~ '^SELECT lwtune_torture_hold' AND state = 'active'};
	my $behind = qq{count(*) = $n FROM pg_stat_activity WHERE query ~ '100, 3' AND wait_event = 'fault'};

	return 'no holder' unless wait_for($node, "count(*) = 1 FROM pg_stat_activity WHERE $held");
	my $pid = $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE $held");
	# it is active before it has the lock
	sleep 0.5;
	my @waiters =
	  map { start_query($node, q{SELECT lwtune_torture_acquires('fault', 'exclusive', 100, 3)}) } 1 .. $n;
	my $waited = wait_for($node, $behind);
	kill 'STOP', $pid;
	sleep 1;
	my $still = wait_for($node, $behind, 1);
	kill 'CONT', $pid;
	# which ends its nap, and its hold with it
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	my $got = join(' ', map { scalar finish_query($_) } @waiters);
	finish_query($holder);
	return 'nobody waited'   unless $waited;
	return 'somebody passed' unless $still;
	return $got;
}

# A server that comes back by itself, ready for clients.
sub not_up
{
	my ($node, $from) = @_;
	my $deadline = time + $bound;

	while (time < $deadline)
	{
		return () if log_since($node, $from) =~ /database system is ready to accept connections/;
		sleep 0.02;
	}
	return "not ready again in $bound s";
}

# Stop it, fast, and see that no process remains.
sub did_not_end
{
	my ($node)   = @_;
	my @pids     = keys %{ { server_processes($node) } };
	my $deadline = time + $bound;
	my @left;

	local $ENV{PGCTLTIMEOUT} = $bound;
	my $stopped = $node->stop('fast', fail_ok => 1);
	do
	{
		@left = grep { kill 0, $_ } @pids;
		sleep 0.02 if @left;
	} while (@left && time < $deadline);
	return () if $stopped && !@left;
	# stuck processes do not even hear an immediate stop
	kill 'KILL', @left;
	return "the server did not stop in $bound s; left were " . scalar(@left) . ' processes';
}

# What no fault explains.  Killed processes are expected if any were.
sub log_complaints
{
	my ($node, $from, $killed) = @_;
	my @lines = split /\n/, log_since($node, $from);
	my @complaints = grep {
		/PANIC:|TRAP:|stuck spinlock|failed verification|recalcitrant|invalid page|could not read block/
		  || (/terminated by signal (\d+)/ && !($killed && $1 == 9))
	} @lines;

	splice(@complaints, 10);
	return @complaints;
}

1;
