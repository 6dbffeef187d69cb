# 05_restart_crash
#	  Processes die, the server restarts: lwtune is in force again, and counts
#	  from the start.
#
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use LwtuneCluster;
use LwtuneText;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('crash', conf => "restart_after_crash = on\nlwtune.spin_time = '5us'\n");

$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION lwtune;
	CREATE EXTENSION lwtune_torture;
	CREATE TABLE survivors (a int);});

# Load, and the numbers that it must leave: after a crash shared memory is new,
# so is every counter.
sub works
{
	my ($name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$node->safe_psql('postgres', "SELECT lwtune_torture_create('crash')");
	my @done      = together($node, map { "SELECT lwtune_torture_verify('crash', 3000)" } 1 .. 4);
	my $exclusive = 0;
	$exclusive += $_ foreach @done;
	return is(
		$node->safe_psql(
			'postgres',
			q{SELECT ex_acquire_count, lwtune_torture_counter('crash') FROM lwtune_stats WHERE tranche = 'crash'}
		),
		"$exclusive|$exclusive",
		"$name: locks lock, and counters count from the start");
}

sub is_as_new
{
	my ($name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	is_in_force($node, "$name: takeover is in force");
	is(scalar(text_differences($node)) > 0, 1, "$name: in the text as well");
	is( $node->safe_psql(
			'postgres',
			q{SELECT max(stats_reset) > pg_postmaster_start_time() - interval '1 s' FROM lwtune_stats}
		),
		't',
		"$name: counters have a start");
	return works($name);
}

# Reload something, which takes the worker.
my $time = 5;

sub reloads
{
	my ($name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	$time++;
	set_live($node, spin_time => "${time}us");
	return ok(
		wait_for(
			$node,
			qq{count(*) > 60 FROM lwtune_settings WHERE setting = 'spin_time' AND value = '${time}us'}
		),
		"$name: a reload takes effect");
}

sub one_load
{
	return map {
		start_query($node,
			"SELECT lwtune_torture_run('crash', 'exclusive', 50, 50, 600000) -- load")
	} 1 .. 4;
}

sub end_load
{
	my (@sessions) = @_;
	my @ended;

	foreach my $session (@sessions)
	{
		my ($out, $err) = finish_query($session);
		push @ended, $err;
	}
	return @ended;
}

sub victim
{
	return $node->safe_psql('postgres',
		q{SELECT pid FROM pg_stat_activity WHERE query ~ '-- load' AND pid <> pg_backend_pid() ORDER BY pid LIMIT 1}
	);
}

# The server is up again, as another incarnation than before.
sub wait_for_restart
{
	my ($from) = @_;

	ok($node->wait_for_log(qr/all server processes terminated; reinitializing/, $from),
		'the server restarts by itself');
	ok($node->wait_for_log(qr/database system is ready to accept connections/, $from),
		'and is ready');
	return;
}

is_as_new('at first');
reloads('at first');

#
# A backend is killed under load: crash recovery, with the same postmaster.
#
foreach my $round (1, 2)
{
	note "kill -9 of a backend, $round";
	my @load = one_load();
	ok( wait_for(
			$node,
			q{block_count + spin_acquire_count > 100 FROM lwtune_stats WHERE tranche = 'crash'}),
		'four processes contend');
	$node->safe_psql('postgres', "INSERT INTO survivors SELECT generate_series(1, 1000)");
	my $postmaster = postmaster_pid($node);
	my $from       = log_from($node);
	kill 'KILL', victim();
	end_load(@load);
	wait_for_restart($from);
	is(postmaster_pid($node), $postmaster, 'the postmaster is the same');
	is_as_new('after the crash');
	reloads('after the crash');
	is( $node->safe_psql('postgres', 'SELECT count(*) FROM survivors'),
		1000 * $round,
		'data survived');
	unlike(log_since($node, $from), qr/lwtune (took|did not)/, 'nothing was taken over again');
}

#
# The worker.
#
note 'the worker is terminated';
my $worker = worker_pid($node);
kill 'TERM', $worker;
my $new;
foreach (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
{
	$new = worker_pid($node);
	last if defined $new && $new != $worker;
	select(undef, undef, undef, 0.1);
}
isnt($new // $worker, $worker, 'it comes back');
is_in_force($node, 'takeover is in force');
reloads('after the worker has come back');

note 'the worker is killed';
my $from = log_from($node);
kill 'KILL', worker_pid($node);
wait_for_restart($from);
is_as_new('after the worker was killed');
reloads('after the worker was killed');

# A reload while there is no worker is not lost.
note 'a reload without a worker';
$worker = worker_pid($node);
kill 'TERM', $worker;
reloads('while the worker restarts');

#
# The server ends, in every way, and is started again.
#
foreach my $mode ('fast', 'smart', 'immediate')
{
	note "stop, $mode";
	$from = log_from($node);
	$node->stop($mode);
	my $log = log_since($node, $from);
	unlike($log, qr/PANIC|terminated by signal|abnormal|stuck/, "$mode: ends in an orderly way")
	  if $mode ne 'immediate';
	$node->start;
	is_as_new("after $mode");
	is(setting_everywhere(), "${time}us", "$mode: the settings are in force");
}

sub setting_everywhere
{
	return $node->safe_psql('postgres',
		q{SELECT DISTINCT value FROM lwtune_settings WHERE setting = 'spin_time'});
}

note 'immediate stop under load';
my @load = one_load();
ok( wait_for(
		$node, q{block_count + spin_acquire_count > 100 FROM lwtune_stats WHERE tranche = 'crash'}),
	'four processes contend');
$node->stop('immediate');
end_load(@load);
$node->start;
is_as_new('after an immediate stop under load');

note 'fast stop under load';
@load = one_load();
ok( wait_for(
		$node, q{block_count + spin_acquire_count > 100 FROM lwtune_stats WHERE tranche = 'crash'}),
	'four processes contend');
$node->stop('fast');
like(
	$_,
	qr/terminating connection due to administrator command/,
	'a process ends in the midst of it') foreach end_load(@load);
$node->start;
is_as_new('after a fast stop under load');

note 'the postmaster is killed';
my %orphans = server_processes($node);
$node->kill9;
# its children notice, and must be gone before another one starts
foreach (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
{
	last unless kill 0, keys %orphans;
	select(undef, undef, undef, 0.1);
}
$node->start;
is_as_new('after the postmaster was killed');
$node->stop;

#
# No background workers at all.
#
note 'max_worker_processes = 0';
$node->append_conf('postgresql.conf', "max_worker_processes = 0\n");
$from = log_from($node);
$node->start;
is_as_new('without a worker');
is(worker_pid($node),    undef,       'there is none');
is(setting_everywhere(), "${time}us", 'the settings of the start are in force');
like(log_since($node, $from), qr/too many background workers/, 'the log tells of it');
$node->stop;

unlike(slurp_file($node->logfile), qr/PANIC|TRAP/, 'no process panicked');
done_testing();
