# 08_beside
#	  lwtune beside what else a server may have: other preloaded libraries in any
#	  order, parallel query, compiled expressions, tracers.
#
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use LwtuneCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_node('beside', conf => <<'EOC');
compute_query_id = on
auto_explain.log_min_duration = 0
auto_explain.log_analyze = on
pg_stat_statements.track = all
max_parallel_workers = 4
max_parallel_workers_per_gather = 4
EOC

$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION lwtune;
	CREATE EXTENSION lwtune_torture;
	CREATE EXTENSION pg_stat_statements;
	CREATE EXTENSION pg_prewarm;
	CREATE TABLE wide AS SELECT i AS a, i % 100 AS b, repeat('x', 200) AS c FROM generate_series(1, 100000) AS i;
	ANALYZE wide;});
$node->stop;

#
# Other libraries, before and after.
#
my $warm = 'pg_stat_statements,auto_explain,pg_prewarm';
foreach my $preload (
	"$warm,lwtune",                                      "lwtune,$warm",
	"pg_stat_statements,lwtune,auto_explain,pg_prewarm", 'lwtune,lwtune')
{
	set_conf($node, shared_preload_libraries => $preload);
	my $from = log_from($node);
	$node->start;
	is_in_force($node, "$preload: takeover is in force");
	is(scalar(() = log_since($node, $from) =~ /lwtune took over/g), 1, 'once');
	like($node->safe_psql('postgres', q{SELECT sum(b) FROM wide}), qr/^\d+$/, 'queries run');
	if ($preload =~ /pg_stat_statements/)
	{
		is( $node->safe_psql(
				'postgres',
				q{SELECT count(*) > 0 FROM pg_stat_statements WHERE query ~ 'FROM wide' AND calls > 0}
			),
			't',
			'pg_stat_statements works');
		is( $node->safe_psql(
				'postgres',
				q{SELECT sh_acquire_count + ex_acquire_count > 0 FROM lwtune_stats WHERE tranche = 'pg_stat_statements'}
			),
			't',
			'and its lock is counted, under its name');
		like(
			log_since($node, $from),
			qr/Query Text: SELECT sum\(b\) FROM wide/,
			'auto_explain works');
		like($node->safe_psql('postgres', q{SELECT pg_prewarm('wide')}),
			qr/^\d+$/, 'pg_prewarm works');
	}
	$node->stop;
}
set_conf($node, shared_preload_libraries => $warm . ',lwtune');

#
# Parallel query: workers' locks are counted, and exactly; views can be read
# in workers.
#
note 'parallel query';
$node->start;
$node->safe_psql('postgres', q{SELECT lwtune_torture_create('parallel')});
my $parallel = q{
	SET parallel_setup_cost = 0;
	SET parallel_tuple_cost = 0;
	SET min_parallel_table_scan_size = 0;
};
my $plan = $node->safe_psql('postgres',
	"$parallel EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT b, count(*), sum(length(c)) FROM wide GROUP BY b"
);
like($plan, qr/Workers Launched: [1-4]/, 'workers are launched');
is( $node->safe_psql(
		'postgres',
		"$parallel SELECT sum(n) FROM (SELECT b, count(*) AS n FROM wide GROUP BY b) AS s"),
	100000,
	'and right');
$node->safe_psql('postgres', q{SELECT lwtune_reset('parallel')});
is( $node->safe_psql(
		'postgres',
		qq{$parallel SELECT sum(lwtune_torture_acquires('parallel', 'exclusive', 10)) FROM wide WHERE a <= 5000}
	),
	50000,
	'locks are acquired in workers');
is( $node->safe_psql(
		'postgres', q{SELECT ex_acquire_count FROM lwtune_stats WHERE tranche = 'parallel'}),
	50000,
	'and counted exactly');
is( $node->safe_psql(
		'postgres', q{
	SET force_parallel_mode = on;
	SELECT count(*) > 60 FROM lwtune_stats;
	SELECT count(*) > 120 FROM lwtune_settings;
	SELECT count(*) FROM lwtune_status;}),
	"t\nt\n" . ntargets(),
	'the views can be read in a worker');
is( $node->safe_psql(
		'postgres', q{
	SET min_parallel_table_scan_size = 0;
	SET maintenance_work_mem = '64MB';
	SET max_parallel_maintenance_workers = 2;
	CREATE INDEX ON wide (b);
	SELECT count(*) FROM wide WHERE b = 7;}),
	1000,
	'parallel index build');

#
# Compiled expressions.
#
note 'JIT';
SKIP:
{
	my $jit =
	  q{SET jit = on; SET jit_above_cost = 0; SET jit_inline_above_cost = 0; SET jit_optimize_above_cost = 0;};
	skip 'this server has no JIT', 2
	  unless $node->safe_psql('postgres', "$jit SELECT pg_jit_available()") eq 't';
	like(
		$node->safe_psql(
			'postgres', "$jit EXPLAIN (ANALYZE) SELECT sum(a * b + 1) FROM wide WHERE b < 50"),
		qr/JIT:/,
		'expressions are compiled');
	is( $node->safe_psql(
			'postgres',
			"$jit $parallel SELECT count(*), sum(tranches) FROM (SELECT b, (SELECT count(*) FROM lwtune_status WHERE b >= 0) AS tranches FROM wide WHERE a <= 100) AS s"
		),
		'100|1900',
		'and right, the views among them');
}

#
# All at once, under load.
#
note 'all at once';
my @sessions = map {
	start_query(
		$node, qq{$parallel
		SELECT count(*) FROM (SELECT b, sum(length(c)) FROM wide GROUP BY b) AS s;
		INSERT INTO wide SELECT i, i % 100, 'y' FROM generate_series(1, 2000) AS i;
		SELECT count(*) FROM (SELECT b, sum(length(c)) FROM wide GROUP BY b) AS s;
		SELECT lwtune_torture_verify('parallel', 2000) > 0;})
} 1 .. 6;
my @results = map { join('|', finish_query($_)) } @sessions;
is_deeply(\@results, [ ("100\n100\nt|") x 6 ], 'parallel queries and writers at once');
$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal/, 'no process crashed');

#
# Probes for tracers: those that the server has, with as many arguments, each
# with a semaphore.
#
sub probes
{
	my ($file) = @_;
	my $notes = `LC_ALL=C readelf -n '$file' 2>/dev/null`;
	my %probes;

	while ($notes =~
		/Provider: (\S+)\s+Name: (\S+)\s+Location: \S+ Base: \S+ Semaphore: (\S+)\s+Arguments:(.*)/g
	  )
	{
		my ($provider, $name, $semaphore, $arguments) = ($1, $2, $3, $4);
		my $n = () = $arguments =~ /@/g;

		next if $name !~ /^lwlock__/;
		$probes{$name} =
		  "$provider, $n arguments, " . (hex($semaphore) != 0 ? 'a semaphore' : 'no semaphore');
	}
	return %probes;
}

note 'probes';
SKIP:
{
	chomp(my $bindir    = `pg_config --bindir`);
	chomp(my $pkglibdir = `pg_config --pkglibdir`);
	my %expected = probes("$bindir/postgres");
	my %got      = probes("$ENV{LWTUNE_STAGE}$pkglibdir/lwtune.so");

	skip 'readelf is not installed',  2 if system('readelf --version >/dev/null 2>&1') != 0;
	skip 'this server has no probes', 2 unless %expected;
	is( scalar(grep { /^postgresql, \d arguments, a semaphore$/ } values %got),
		scalar(keys %got),
		'lwtune has probes of the server\'s provider, with semaphores');
	is_deeply(\%got, \%expected, 'of the same names and with as many arguments');
}

done_testing();
