# 11_pg_upgrade
#	  A cluster with lwtune goes through pg_upgrade, preloading it on both sides.
#
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use LwtuneCluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $old = new_node('old', conf => "lwtune.spin_time = 'auto'\n");
my $new = new_node('new', conf => "lwtune.spin_time = '0, WALInsert:20us'\n");

$old->start;
$old->safe_psql(
	'postgres', q{
	CREATE EXTENSION lwtune;
	CREATE TABLE t AS SELECT generate_series(1, 1000) AS a;
	CREATE VIEW on_lwtune AS SELECT tranche FROM lwtune_stats;
	GRANT EXECUTE ON FUNCTION lwtune_reset(text) TO pg_monitor;});
is_in_force($old, 'the old cluster has lwtune in force');
$old->stop;

chomp(my $bindir = `pg_config --bindir`);
# it writes where it is called
chdir $old->basedir or die "could not change to another folder: $!\n";
command_ok(
	[
		'pg_upgrade',   '-b', $bindir,    '-B', $bindir,    '-d', $old->data_dir, '-D',
		$new->data_dir, '-p', $old->port, '-P', $new->port, '-s', $new->host
	],
	'pg_upgrade');

my $from = log_from($new);
$new->start;
is_in_force($new, 'the new cluster has lwtune in force');
unlike(log_since($new, $from), qr/WARNING|ERROR|FATAL|PANIC/, 'and nothing else happened');
is($new->safe_psql('postgres', q{SELECT extversion FROM pg_extension WHERE extname = 'lwtune'}),
	'0.1.0', 'the extension is there');
is($new->safe_psql('postgres', q{SELECT count(*) > 60 FROM on_lwtune}),
	't', 'a view on its view works');
is( $new->safe_psql(
		'postgres', q{SELECT has_function_privilege('pg_monitor', 'lwtune_reset(text)', 'EXECUTE')}
	),
	't',
	'privileges are kept');
is($new->safe_psql('postgres', 'SELECT count(*) FROM t'), 1000, 'so are data');
is( $new->safe_psql(
		'postgres',
		q{SELECT value FROM lwtune_settings WHERE tranche = 'WALInsert' AND setting = 'spin_time'}),
	'20us',
	'settings are those of the new cluster');
$new->stop;

done_testing();
