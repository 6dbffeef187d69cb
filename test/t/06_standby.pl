# 06_standby
#	  A streaming standby with lwtune on both sides: it replays under load, its
#	  views can be read, it is promoted under load.
#
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use LwtuneCluster;
use LwtuneText;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = new_node(
	'primary',
	init => { allows_streaming => 1 },
	conf => "max_connections = 40\nlwtune.spin_time = '0, WALInsert:10us, ProcArray:auto'\n");

$primary->start;
$primary->safe_psql(
	'postgres', q{
	CREATE EXTENSION lwtune;
	CREATE EXTENSION lwtune_torture;
	CREATE TABLE t (a int PRIMARY KEY, b text);});
$primary->backup('base');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

sub write_some
{
	my ($node, $from, $sessions) = @_;

	return map {
		my $start = $from + $_ * 10000;
		start_query(
			$node, qq{
			DO \$\$
			BEGIN
				FOR i IN $start..$start + 1999 LOOP
					INSERT INTO t VALUES (i, repeat('x', 100));
					COMMIT;
				END LOOP;
			END \$\$})
	} 1 .. $sessions;
}

sub all_written
{
	foreach my $session (@_)
	{
		my ($out, $err) = finish_query($session);
		return $err if $err ne '';
	}
	return 'all written';
}

#
# Replay under load, with readers on the standby.
#
my @writers = write_some($primary, 100_000, 4);
my @readers = map {
	start_query(
		$standby, q{
		DO $$
		DECLARE
			start timestamptz := clock_timestamp();
		BEGIN
			WHILE clock_timestamp() < start + interval '2 s' LOOP
				PERFORM sum(length(b)) FROM t;
				PERFORM count(*) FROM lwtune_stats;
			END LOOP;
		END $$})
} 1 .. 2;
is(all_written(@writers), 'all written', 'the primary writes under load');
is(all_written(@readers), 'all written', 'the standby reads meanwhile, its statistics too');
$primary->wait_for_catchup($standby, 'replay');
is($standby->safe_psql('postgres', 'SELECT count(*) FROM t'), 8000, 'the standby has everything');

is($standby->safe_psql('postgres', 'SELECT pg_is_in_recovery()'), 't', 'it is a standby');
is_in_force($standby, 'takeover is in force on it');
cmp_ok(scalar(text_differences($standby)), '>', 0, 'in its text as well');
is( $standby->safe_psql(
		'postgres', q{SELECT count(*) > 60, bool_or(sh_acquire_count > 0) FROM lwtune_stats}),
	't|t',
	'its counters can be read');
is( $standby->safe_psql(
		'postgres', q{SELECT string_agg(value, ' ' ORDER BY tranche) FROM lwtune_settings
	WHERE tranche IN ('ProcArray', 'WALInsert', 'XidGen') AND setting = 'spin_time'}),
	'auto 10us 0',
	'its settings too');
is( $standby->safe_psql(
		'postgres', q{SELECT ex_acquire_count > 0 FROM lwtune_stats WHERE tranche = 'ProcArray'}),
	't',
	'the startup process is counted');
is($standby->safe_psql('postgres', q{SELECT lwtune_reset('WALInsert')}), '', 'and can be reset');

# a reload on the standby alone
$standby->append_conf('postgresql.conf', "lwtune.spin_time = '0, WALInsert:77us'\n");
$standby->reload;
ok(wait_for_setting($standby, '77us'), 'a reload takes effect on the standby');
ok(wait_for_setting($primary, '10us'), 'and not on the primary');

# no temporary table there to measure with
sub wait_for_setting
{
	my ($node, $value) = @_;
	return $node->poll_query_until('postgres',
		"SELECT value = '$value' FROM lwtune_settings WHERE tranche = 'WALInsert' AND setting = 'spin_time'"
	);
}

#
# Promotion, while the primary writes and the standby reads.
#
@writers = write_some($primary, 200_000, 4);
@readers = map {
	start_query(
		$standby, q{
		DO $$
		DECLARE
			start timestamptz := clock_timestamp();
		BEGIN
			WHILE clock_timestamp() < start + interval '3 s' LOOP
				PERFORM sum(length(b)) FROM t;
			END LOOP;
		END $$})
} 1 .. 2;
select(undef, undef, undef, 0.5);
$standby->promote;
is($standby->safe_psql('postgres', 'SELECT pg_is_in_recovery()'),
	'f', 'the standby is promoted under load');
is(all_written(@readers), 'all written', 'its sessions live on');
is(all_written(@writers), 'all written', 'so do those of the primary');

is_in_force($standby, 'takeover is in force after promotion');
@writers = write_some($standby, 300_000, 4);
is(all_written(@writers), 'all written', 'it writes under load');
my $before = $standby->safe_psql('postgres',
	q{SELECT ex_acquire_count FROM lwtune_stats WHERE tranche = 'WALInsert'});
$standby->safe_psql('postgres',
	q{INSERT INTO t SELECT 900000 + i, '' FROM generate_series(1, 100) AS i});
cmp_ok(
	$standby->safe_psql(
		'postgres', q{SELECT ex_acquire_count FROM lwtune_stats WHERE tranche = 'WALInsert'}),
	'>=',
	$before + 100,
	'its WAL insertions are counted');
$standby->safe_psql('postgres', "SELECT lwtune_torture_create('promoted')");
my $exclusive = 0;
$exclusive += $_
  foreach together($standby, map { "SELECT lwtune_torture_verify('promoted', 3000)" } 1 .. 4);
is( $standby->safe_psql(
		'postgres', q{SELECT ex_acquire_count FROM lwtune_stats WHERE tranche = 'promoted'}),
	$exclusive,
	'exactly');

foreach my $node ($primary, $standby)
{
	$node->stop;
	unlike(
		slurp_file($node->logfile),
		qr/PANIC|TRAP|terminated by signal/,
		$node->name . ': no process crashed');
}
done_testing();
