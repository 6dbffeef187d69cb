# 07_torture
#	  Mutual exclusion, exact sums and no lost wake-up, while settings flip under
#	  the processes that contend.
#
# Healthy output: every session ends by itself, the counter under the lock is
# the sum of what the sessions did, and so is ex_acquire_count.
#
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use List::Util qw(sum0);
use LwtuneCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

# each of the two parts takes so long
my $seconds = 10;
my $node    = new_node('torture');

$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION lwtune;
	CREATE EXTENSION lwtune_torture;
	SELECT lwtune_torture_create('torture');
	SELECT lwtune_torture_create('variable');

	-- The sum of what a query gives, asked again and again for so long.
	CREATE FUNCTION repeated(seconds int, query text) RETURNS bigint LANGUAGE plpgsql AS $$
	DECLARE
		start timestamptz := clock_timestamp();
		sum bigint := 0;
		one bigint;
	BEGIN
		WHILE clock_timestamp() < start + seconds * interval '1 s' LOOP
			EXECUTE query INTO one;
			sum := sum + one;
		END LOOP;
		RETURN sum;
	END $$;});

my @spin_times   = ('0',  'auto', '20us', '0, torture:auto', 'torture:1us, variable:50us', '2us');
my @max_spinners = ('-1', '1',    '8',    '0');
my @tracks       = ('counts', 'timing');

# Flip settings some twenty times a second until the sessions have ended.
# Returns how often.
sub flip_while
{
	my (@sessions) = @_;
	my $flips      = 0;
	my $deadline   = time + $PostgreSQL::Test::Utils::timeout_default;

	while (grep { $_->{run}->pumpable } @sessions)
	{
		last if time > $deadline;
		set_live_in_one(
			$spin_times[ $flips % @spin_times ],
			$max_spinners[ $flips / 3 % @max_spinners ],
			$tracks[ $flips / 2 % @tracks ]);
		$flips++;
		# one that has just ended says so by dying
		eval { $_->{run}->pump_nb if $_->{run}->pumpable } foreach @sessions;
		select(undef, undef, undef, 0.02);
	}
	return $flips;
}

# The worker reads files only, so one may as well write them.
sub set_live_in_one
{
	my ($spin_time, $max_spinners, $track) = @_;
	my $file = $node->data_dir . '/flip.conf';

	open(my $conf, '>', "$file.new") or die "could not write $file: $!\n";
	print $conf
	  "lwtune.spin_time = '$spin_time'\nlwtune.max_spinners = '$max_spinners'\nlwtune.track = '$track'\n";
	close $conf;
	rename "$file.new", $file;
	kill 'HUP', postmaster_pid($node);
	return;
}

$node->append_conf('flip.conf',       '');
$node->append_conf('postgresql.conf', "include = 'flip.conf'\n");

#
# Every way to acquire, by eight processes.
#
my $already = $node->safe_psql('postgres', q{SELECT lwtune_torture_counter('torture')});
$node->safe_psql('postgres', "SELECT lwtune_reset('torture')");
my $start    = time;
my @sessions = map {
	start_query($node,
		"SELECT repeated($seconds, 'SELECT lwtune_torture_verify(''torture'', 1000)')")
} 1 .. 8;
my $flips = flip_while(@sessions);
my $sum   = 0;
my @errors;
foreach my $session (@sessions)
{
	my ($out, $err) = finish_query($session);
	$sum += $out || 0;
	push @errors, $err if $err ne '';
}
note sprintf('%d exclusive acquisitions, %d flips, %.1f s', $sum, $flips, time - $start);
is_deeply(\@errors, [], 'eight processes: nothing was found wrong');
cmp_ok($flips, '>', 50, 'settings flipped meanwhile');
is( $node->safe_psql('postgres', q{SELECT lwtune_torture_counter('torture')}),
	$already + $sum,
	'no change under the lock was lost');
is( $node->safe_psql(
		'postgres', q{SELECT ex_acquire_count FROM lwtune_stats WHERE tranche = 'torture'}),
	$sum,
	'and every acquisition was counted');
is( $node->safe_psql(
		'postgres',
		q{SELECT block_count > 0, spin_acquire_count > 0, spin_fail_count > 0, conditional_fail_count > 0, wait_time > 0
	FROM lwtune_stats WHERE tranche = 'torture'}),
	't|t|t|t|t',
	'they slept, they spun, with and without success, and gave up');

#
# A lock's variable: two that set it, six that wait for it.
#
$start    = time;
@sessions = map {
	my $role = $_ < 2 ? 'updater' : 'waiter';
	start_query($node,
		"SELECT repeated($seconds, 'SELECT lwtune_torture_var(''variable'', 1000, 0, ''$role'')')")
} 0 .. 7;
$flips  = flip_while(@sessions);
@errors = ();
my @values;
foreach my $session (@sessions)
{
	my ($out, $err) = finish_query($session);
	push @values, $out || 0;
	push @errors, $err if $err ne '';
}
note sprintf(
	'%d values set, %d seen, %d flips, %.1f s',
	$values[0] + $values[1],
	sum0(@values[ 2 .. 7 ]),
	$flips, time - $start);
is_deeply(\@errors, [], 'two set a variable, six wait for it: nothing was found wrong');
cmp_ok($values[0] + $values[1], '>', 10000, 'values were set');
cmp_ok($values[2] + $values[7], '>', 100,   'and seen');

#
# Nobody is stuck, and nothing is left over.
#
is( $node->safe_psql(
		'postgres', q{SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'LWLock'}),
	'0',
	'nobody waits');
is( $node->safe_psql(
		'postgres',
		q{SELECT lwtune_torture_acquires('torture', 'exclusive', 1), lwtune_torture_acquires('variable', 'exclusive', 1)}
	),
	'1|1',
	'the locks are free');

# Spinners come and go in pairs: if one were left counted, nobody could spin
# for that lock any more where one may.
set_live_in_one('torture:50us', '1', 'counts');
ok( wait_for(
		$node,
		q{value = '50us' FROM lwtune_settings WHERE tranche = 'torture' AND setting = 'spin_time'}),
	'one may spin');
$node->safe_psql('postgres', "SELECT pg_sleep(0.1), lwtune_reset('torture')");
together($node, map { "SELECT lwtune_torture_run('torture', 'exclusive', 200, 50, 500)" } 1 .. 2);
cmp_ok(
	$node->safe_psql(
		'postgres',
		q{SELECT spin_acquire_count + spin_fail_count FROM lwtune_stats WHERE tranche = 'torture'}),
	'>', 0,
	'and does');

#
# A lock that is broken on purpose is noticed, or all of the above is worth
# nothing.
#
@sessions =
  map { start_query($node, q{SELECT lwtune_torture_verify('torture', 100000, 1, true)}) } 1 .. 4;
my @noticed = grep { $_ =~ /failed verification/ } map { (finish_query($_))[1] } @sessions;
cmp_ok(scalar(@noticed), '>', 0, 'a broken lock is noticed');

$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal|stuck/, 'no process crashed');
done_testing();
