# 14_moved_shmem
#	  After a crash shared memory may lie elsewhere: nothing may point to where
#	  it was.
#
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use LwtuneBuild;
use LwtuneCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $library = build_library('moved_shmem');

# Where a process has the largest piece of memory that all share.
sub shmem_at
{
	my ($pid) = @_;
	my ($largest, $at) = (0, '');

	foreach (split /\n/, slurp_file("/proc/$pid/maps"))
	{
		next unless /^([0-9a-f]+)-([0-9a-f]+) rw-s /;
		my $size = hex($2) - hex($1);
		($largest, $at) = ($size, $1) if $size > $largest;
	}
	return $at;
}

# The server by itself can do it, or this would say nothing of lwtune.
foreach my $enable ('off', 'on')
{
	my $name = "lwtune.enable = $enable";
	my $node = new_node(
		"moved_$enable",
		conf => "restart_after_crash = on\nlwtune.enable = $enable\nlwtune.spin_time = 'auto'\n"
		  # a process that lets go of shared memory and lives on
		  . "logging_collector = on\nlog_directory = 'collected'\n");
	{
		local $ENV{LD_PRELOAD} = $library;
		ok(start_by_hand($node), "$name: a server starts");
	}
	my $postmaster = postmaster_pid($node);
	$node->safe_psql('postgres',
		'CREATE EXTENSION lwtune; CREATE EXTENSION lwtune_torture; CREATE TABLE rounds (n int)');
	foreach my $round (1 .. 3)
	{
		my $at = shmem_at($postmaster);
		$node->safe_psql('postgres', "INSERT INTO rounds VALUES ($round)");
		my $session = start_query($node, 'SELECT pg_sleep(600)');
		wait_for($node, q{count(*) = 1 FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(600)'});
		kill 'KILL', $node->safe_psql('postgres',
			q{SELECT pid FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(600)'});
		finish_query($session);
		# up again, or gone
		foreach (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
		{
			last unless kill 0, $postmaster;
			last if $node->psql('postgres', 'SELECT 1') == 0;
			select(undef, undef, undef, 0.1);
		}
		ok(kill(0, $postmaster), "$name: crash $round: the postmaster lives on") or last;
		isnt(shmem_at($postmaster), $at, "$name: crash $round: shared memory lies elsewhere");
		is($node->safe_psql('postgres', 'SELECT count(*) FROM rounds'), $round, "$name: data is there");
		next if $enable eq 'off';
		is_in_force($node, "$name: crash $round: takeover is in force");
		$node->safe_psql('postgres', "SELECT lwtune_torture_create('moved')");
		my $exclusive = 0;
		$exclusive += $_
		  foreach together($node, map { "SELECT lwtune_torture_verify('moved', 1000)" } 1 .. 4);
		is( $node->safe_psql(
				'postgres', q{SELECT ex_acquire_count FROM lwtune_stats WHERE tranche = 'moved'}),
			$exclusive,
			"$name: crash $round: locks lock, counters count from the start");
	}
	ok(stop_by_hand($node), "$name: it stops") or stop_by_hand($node, 'immediate');
}
done_testing();
