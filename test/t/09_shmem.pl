# 09_shmem
#	  Shared memory: what was asked for is what is used, and there is a bound on
#	  it for each process that there may be.
#
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use LwtuneCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $limit = 32 * 1024;

# The server's defaults where Cluster.pm has others.
my $node =
  new_node('shmem', conf => "max_wal_senders = 10\nwal_level = replica\nautovacuum = on\n");

sub used
{
	my ($node) = @_;
	return $node->safe_psql('postgres',
		q{SELECT sum(allocated_size) FROM pg_shmem_allocations WHERE name IN ('lwtune', 'lwtune counters')}
	);
}

# With what each of them runs: backends, autovacuum, workers, walsenders, the
# launcher, and startup, checkpointer, writers, archiver or receiver.
sub processes
{
	my ($node) = @_;
	return $node->safe_psql(
		'postgres', q{
		SELECT current_setting('max_connections')::int + current_setting('autovacuum_max_workers')::int + 1
			 + current_setting('max_worker_processes')::int + current_setting('max_wal_senders')::int + 5});
}

# Few processes share the fixed part among few: the bound is for the defaults,
# and more.
foreach my $conf ('', "max_connections = 500\nmax_worker_processes = 64\n")
{
	$node->append_conf('postgresql.conf', $conf);
	$node->start;
	my $processes = processes($node);
	my $used      = used($node);
	note sprintf('%d bytes, %d processes, %.0f bytes each', $used, $processes, $used / $processes);
	cmp_ok($used / $processes,
		'<=', $limit, "at most $limit bytes for each of $processes processes");
	cmp_ok($used / $processes, '>', 0, 'but something');
	is( $node->safe_psql(
			'postgres', q{SELECT count(*) FROM pg_shmem_allocations WHERE name ~ 'lwtune'}),
		2,
		'in two pieces');
	is( $node->safe_psql('postgres', q{SHOW lwtune.spin_time})
		  . $node->safe_psql('postgres', q{SHOW lwtune.track}),
		'0counts',
		'with default settings');

	# Everything that may run does, at once; each has a slab of its own.
	my @sessions = map {
		start_query($node,
			q{SELECT pg_sleep(0.5), (SELECT count(*) FROM pg_class WHERE relname = 'pg_class')})
	} 1 .. 12;
	is( join(',', map { scalar finish_query($_) } @sessions),
		join(',', ('|1') x 12),
		'many sessions at once');
	$node->stop;
}

# Asked for before it is used: otherwise it would be taken from the slack that
# other extensions count on.
my $with    = `postgres -D '${\ $node->data_dir }' -C shared_memory_size`;
my $without = `postgres -D '${\ $node->data_dir }' -C shared_memory_size -c lwtune.enable=off`;
chomp($with, $without);
$node->start;
my $used = used($node) / 1024 / 1024;
note "$with MB with lwtune, $without MB without, $used MB used";
cmp_ok($with - $without, '>=', int($used),     'memory was asked for');
cmp_ok($with - $without, '<=', int($used) + 2, 'and not more than is used');
$node->stop;

done_testing();
