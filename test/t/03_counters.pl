# 03_counters
#	  Counters are exact, over processes that live and that have ended, and can
#	  be read while processes come and go.
#
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use LwtuneBuild;
use LwtuneCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node  = new_node('counters');
my $calls = build_library('lock_calls');

$node->start;
$node->safe_psql(
	'postgres', qq{
	CREATE EXTENSION lwtune;
	CREATE EXTENSION lwtune_torture;
	CREATE FUNCTION lock_tranches(int) RETURNS int LANGUAGE c AS '$calls';
	CREATE FUNCTION lock_conditional(int, int) RETURNS int LANGUAGE c AS '$calls';
	CREATE FUNCTION lock_acquire(int, bigint) RETURNS bigint LANGUAGE c AS '$calls';
	SELECT lwtune_torture_create('eight');
	SELECT lwtune_torture_create('timed');
	SELECT lwtune_torture_create('churn');});

sub counts
{
	my ($tranche, @columns) = @_;
	my $list = join(', ', @columns);

	return $node->safe_psql('postgres',
		"SELECT $list FROM lwtune_stats WHERE tranche = '$tranche'");
}

#
# Eight processes, of which half have ended before anybody looks.
#
my $n = 60000;
is(counts('eight', qw(sh_acquire_count ex_acquire_count block_count)),
	'0|0|0', 'a tranche shows up in a session that never used it');

my @live = map { $node->background_psql('postgres') } 1 .. 4;
foreach my $i (0 .. 3)
{
	my $mode = $i % 2 ? 'shared' : 'exclusive';
	$live[$i]->query_until(
		qr/started/, qq{\\echo started
		SELECT lwtune_torture_acquires('eight', '$mode', $n);\n});
}
together(
	$node,
	map {
		sprintf(q{SELECT lwtune_torture_acquires('eight', '%s', %d)},
			$_ % 2 ? 'shared' : 'exclusive', $n)
	} 0 .. 3);
# each answers when it is done
$_->query_safe('SELECT 1') foreach @live;

is( counts('eight', qw(sh_acquire_count ex_acquire_count)),
	join('|', 4 * $n, 4 * $n),
	'acquisitions of eight processes, four of them ended, exactly');

$_->quit foreach @live;
is( counts('eight', qw(sh_acquire_count ex_acquire_count)),
	join('|', 4 * $n, 4 * $n),
	'the same when all have ended');

# others take their places
together($node, map { "SELECT lwtune_torture_acquires('churn', 'exclusive', 10)" } 1 .. 12);
together($node, map { "SELECT lwtune_torture_acquires('churn', 'exclusive', 10)" } 1 .. 12);
is( counts('eight', qw(sh_acquire_count ex_acquire_count)),
	join('|', 4 * $n, 4 * $n),
	'the same when others have taken their places');
is(counts('churn', 'ex_acquire_count'), 240, 'who are counted too');

# a process that dies of an error, and one that is terminated, in the midst of it
$node->psql('postgres',
	q{DO $$ BEGIN PERFORM lwtune_torture_acquires('churn', 'exclusive', 7); PERFORM 1/0; END $$});
$node->psql('postgres',
	q{DO $$ BEGIN PERFORM lwtune_torture_acquires('churn', 'exclusive', 9); PERFORM pg_terminate_backend(pg_backend_pid()); END $$}
);
is(counts('churn', 'ex_acquire_count'), 256, 'an error or a termination loses nothing');

#
# Waits: how many, and how long.
#
$node->safe_psql('postgres', "SELECT lwtune_reset('timed')");
is(counts('timed', qw(block_count wait_time max_wait_time)), '0|0|0', 'nobody has waited');

# Some process holds the lock, and another one waits for it, so long.
sub one_waits
{
	my ($ms) = @_;
	# until it is cancelled
	my $holder = start_query($node, "SELECT lwtune_torture_hold('timed', 'exclusive', 600000)");

	die 'nobody holds the lock'
	  unless wait_for($node,
		q{ex_acquire_count > sh_acquire_count FROM lwtune_stats WHERE tranche = 'timed'});
	my $waiter = start_query($node, "SELECT lwtune_torture_acquires('timed', 'shared', 1)");
	die 'nobody waits for the lock'
	  unless wait_for($node,
		q{count(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'LWLock' AND wait_event = 'timed'}
	  );
	$node->safe_psql(
		'postgres', qq{
		SELECT pg_sleep($ms / 1000.0);
		SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query ~ 'torture_hold' AND pid <> pg_backend_pid()}
	);
	finish_query($holder);
	finish_query($waiter);
	return;
}

one_waits(400);
is( counts(
		'timed',
		qw(sh_acquire_count ex_acquire_count block_count spin_acquire_count spin_fail_count wait_time max_wait_time)
	),
	'1|1|1|0|0|0|0',
	'counts: one process slept, once, and nobody looked at a clock');

set_live($node, track => 'timing');
$node->safe_psql('postgres', "SELECT pg_sleep(0.2), lwtune_reset('timed')");
one_waits(400);
my ($blocked, $time, $max) = split /\|/, counts('timed', qw(block_count wait_time max_wait_time));
is($blocked, 1, 'timing: one process slept');
cmp_ok($time, '>=', 400,         'for some time');
cmp_ok($time, '<',  400 + 60000, 'not longer than it took');
is($max, $time, 'which is the longest');
one_waits(100);
my (undef, $time2, $max2) = split /\|/, counts('timed', qw(block_count wait_time max_wait_time));
cmp_ok($time2, '>',  $time,  'times add up');
cmp_ok($max2,  '>=', $max,   'and the longest stays the longest');
cmp_ok($max2,  '<',  $time2, 'being one of them');
$node->safe_psql('postgres', "SELECT lwtune_reset('timed')");
is(counts('timed', qw(block_count wait_time max_wait_time)), '0|0|0', 'a reset forgets times too');
set_live($node, track => undef);

#
# Conditional attempts that fail.
#
my $id = $node->safe_psql('postgres', 'SELECT lock_tranches(1)');
is($node->safe_psql('postgres', "SELECT lock_conditional($id, 1234)"),
	1234, 'conditional attempts that fail');
is(counts("many $id", qw(conditional_fail_count sh_acquire_count ex_acquire_count block_count)),
	'1234|1|0|0', 'are counted as such, exactly');

#
# More tranches than there are rows for.
#
my $last = $node->safe_psql('postgres', 'SELECT lock_tranches(300)');
cmp_ok($last, '>', 300, 'hundreds of tranches');
$node->safe_psql(
	'postgres',
	sprintf(
		'SELECT lock_acquire(%d, 100), lock_acquire(%d, 1000), lock_acquire(65535, 10)',
		$last, $last - 1));
is(counts('(others)', qw(sh_acquire_count ex_acquire_count)),
	'0|1110', 'the last ones are counted together');
is( $node->safe_psql('postgres',
		q{SELECT count(*), count(DISTINCT tranche) FROM lwtune_stats WHERE tranche ~ '^many \d+$'})
	  =~ /^(\d+)\|\1$/,
	1,
	'the first ones each by itself');
is( counts('eight', qw(sh_acquire_count ex_acquire_count)),
	join('|', 4 * $n, 4 * $n),
	'and others are what they were');

#
# The view is read while processes come and go: no error, and no counter ever
# falls.
#
my $until = time + 4;
my $churn = start_query(
	$node, q{
	CREATE TEMP TABLE before AS SELECT * FROM lwtune_stats;
	CREATE TEMP TABLE result (reads int, fell int, negative int);
	INSERT INTO result VALUES (0, 0, 0);
	DO $$
	DECLARE
		start timestamptz := clock_timestamp();
	BEGIN
		WHILE clock_timestamp() < start + interval '4 s' LOOP
			CREATE TEMP TABLE after AS SELECT * FROM lwtune_stats;
			UPDATE result SET reads = reads + 1,
				fell = fell + (SELECT count(*) FROM before FULL JOIN after USING (tranche)
								WHERE after.tranche IS NULL
								   OR after.sh_acquire_count < before.sh_acquire_count
								   OR after.ex_acquire_count < before.ex_acquire_count
								   OR after.block_count < before.block_count);
			DROP TABLE before;
			ALTER TABLE after RENAME TO before;
		END LOOP;
	END $$;
	SELECT reads > 20, fell FROM result;});
my $connections = 0;
my $failed      = 0;
while (time < $until)
{
	my @sessions =
	  map { start_query($node, "SELECT lwtune_torture_acquires('churn', 'exclusive', 100)") }
	  1 .. 4;
	foreach my $session (@sessions)
	{
		my ($out, $err) = finish_query($session);
		$connections++;
		$failed++ if $out ne '100';
	}
}
my ($out, $err) = finish_query($churn);
is($out,                                't|0', 'no counter fell while processes came and went');
is($err,                                '',    'and no read failed');
is($failed,                             0,     "nor any of $connections connections");
is(counts('churn', 'ex_acquire_count'), 256 + 100 * $connections, 'and all were counted');

#
# The same while counters are reset: nothing ever is below zero, or more than
# there was.
#
my $resets = start_query(
	$node, q{
	DO $$
	DECLARE
		start timestamptz := clock_timestamp();
	BEGIN
		WHILE clock_timestamp() < start + interval '2 s' LOOP
			PERFORM lwtune_reset();
			PERFORM pg_sleep(0.001);
		END LOOP;
	END $$});
my $load  = start_query($node, "SELECT lwtune_torture_run('churn', 'shared', 0, 10, 2000)");
my $reads = start_query(
	$node, q{
	CREATE TEMP TABLE result (wrong int);
	DO $$
	DECLARE
		start timestamptz := clock_timestamp();
	BEGIN
		WHILE clock_timestamp() < start + interval '2 s' LOOP
			INSERT INTO result SELECT 1 FROM lwtune_stats
			 WHERE least(sh_acquire_count, ex_acquire_count, conditional_fail_count, spin_acquire_count,
						 spin_fail_count, block_count, dequeue_self_count, spin_delay_count) < 0
				OR greatest(sh_acquire_count, ex_acquire_count) > 1000000000
				OR least(wait_time, max_wait_time) < 0;
		END LOOP;
	END $$;
	SELECT count(*) FROM result;});
finish_query($resets);
finish_query($load);
($out, $err) = finish_query($reads);
is($out, '0', 'no counter was below zero while counters were reset');
is($err, '',  'and no read failed');

#
# Resets are for superusers.
#
$node->safe_psql('postgres', 'CREATE ROLE plain LOGIN');
my $stderr;
isnt($node->psql('postgres', q{SET ROLE plain; SELECT lwtune_reset()}, stderr => \$stderr),
	0, 'others cannot reset');
like($stderr, qr/permission denied for function lwtune_reset/, 'for want of permission');
is($node->safe_psql('postgres', 'SET ROLE plain; SELECT count(*) > 60 FROM lwtune_stats'),
	't', 'they can read');

$node->stop;
done_testing();
