# 01_load
#	  Every way to start a server, or a session, that knows of lwtune.
#
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run;
use LwtuneCluster;
use LwtuneText;
use PostgreSQL::Test::Utils;
use Test::More;

my ($stdout, $stderr);
my $node      = new_node('main');
my $functions = ntargets();

# One query in single-user mode; all that it printed.
sub single_user
{
	my ($query, @options) = @_;
	my $output  = '';
	my @command = ('postgres', '--single', @options, '-D', $node->data_dir, 'postgres');

	# it takes a line for a whole query
	$query =~ s{\s+}{ }g;
	IPC::Run::run(\@command, '<', \"$query\n", '>', \$output, '2>', \$output);
	return $output;
}

#
# The normal start.
#
note 'normal start';
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION lwtune; CREATE EXTENSION lwtune_torture');
my $log   = slurp_file($node->logfile);
my @lines = $log =~
  /LOG:  lwtune took over the server's locks: ($functions functions in \d+\.\d ms, one pause takes \d+\.\d ns)/g;
is(scalar(@lines), 1, 'one line in the log tells of the takeover');
note $lines[0];
unlike($log, qr/WARNING|ERROR|FATAL|PANIC/, 'and nothing else happened');
is_in_force($node, 'all functions are redirected');
like(worker_pid($node), qr{^\d+$}, 'the worker runs');

my %entries = server_entries($node);
my %jumps;
my $stray = 0;
foreach my $offset (text_differences($node))
{
	my ($function) =
	  grep { $offset >= $entries{$_}[0] && $offset <= $entries{$_}[1] } keys %entries;
	defined $function ? $jumps{$function}++ : $stray++;
}
is($stray, 0, 'the text differs from the file in nothing but entries');
is_deeply([ sort keys %jumps ], [ sort keys %entries ], 'which all lead elsewhere');

my $pid = postmaster_pid($node);
is_deeply([ grep { (readlink($_) // '') =~ m{/postgres$} } glob("/proc/$pid/fd/*") ],
	[], "the server's file is not left open");
my %processes = server_processes($node);
cmp_ok(scalar(keys %processes), '>=', 5, 'the postmaster and its children run');
is_deeply(
	[
		grep { slurp_file("/proc/$_/maps") =~ /^\S+ .wx/m }
		  keys %processes
	],
	[],
	'no process has a page that is writable and executable');

# Reserved prefix.
($stdout, $stderr) = ('', '');
isnt($node->psql('postgres', 'SET lwtune.no_such_setting = 1', stderr => \$stderr),
	0, 'a setting that lwtune has not got is refused');
like($stderr, qr/"lwtune" is a reserved prefix/, 'because the prefix is reserved');

#
# Turned off.
#
note 'lwtune.enable = off';
set_conf($node, 'lwtune.enable' => 'off', 'lwtune.spin_time' => '20us');
my $from = log_from($node);
$node->restart;
is(states($node), "stock=$functions", 'every function is stock');
is( $node->safe_psql('postgres', 'SELECT DISTINCT reason, calls FROM lwtune_status'),
	'lwtune.enable is off|',
	'and why');
text_is_stock($node, 'the text is what the file holds, byte by byte');
is($node->safe_psql('postgres', 'SELECT count(*) FROM lwtune_stats'), '0', 'nothing is counted');
is($node->safe_psql('postgres', 'SELECT count(*) FROM lwtune_settings'), '0',
	'nothing is in force');
is($node->safe_psql('postgres', q{SELECT lwtune_reset(), lwtune_reset('no such tranche')}),
	'|', 'a reset does nothing');
is( $node->safe_psql(
		'postgres',
		q{SELECT count(*) FROM pg_shmem_allocations WHERE name LIKE 'lwtune%' AND name <> 'lwtune_torture'}
	),
	'0',
	'no shared memory is used');
is(worker_pid($node), undef, 'no worker runs');
unlike(log_since($node, $from), qr/lwtune (took|did not)|WARNING/, 'nothing in the log');
is( $node->safe_psql(
		'postgres', q{SELECT lwtune_torture_acquires('off', 'exclusive', 1000)
	FROM (SELECT lwtune_torture_create('off')) AS created}),
	'1000',
	"the server's own locks work");
#
# Not preloaded.
#
note 'not preloaded';
set_conf($node, 'shared_preload_libraries' => '', 'lwtune.enable' => 'on');
$from = log_from($node);
$node->restart;
is($node->psql('postgres', q{LOAD 'lwtune'; SELECT 1}, stdout => \$stdout, stderr => \$stderr),
	0, 'LOAD in a session that does not preload it works');
like($stderr, qr/WARNING:  lwtune is not in effect: it can take over locks only at server start/,
	'and warns');
like(
	$stderr,
	qr/HINT:  Add lwtune to shared_preload_libraries and restart the server/,
	'and says what to do');

foreach my $call ('lwtune_status()', 'lwtune_settings()', 'lwtune_stats()', 'lwtune_reset()')
{
	isnt($node->psql('postgres', "SELECT * FROM $call", stderr => \$stderr), 0,
		"$call is an error");
	like(
		$stderr,
		qr/ERROR:  lwtune must be loaded via shared_preload_libraries\nHINT:  Add lwtune to/,
		'which says why');
}
foreach my $view ('lwtune_status', 'lwtune_settings', 'lwtune_stats')
{
	isnt($node->psql('postgres', "TABLE $view", stderr => \$stderr), 0, "$view is an error");
}
$node->safe_psql('postgres', 'CREATE DATABASE other');
is( $node->psql(
		'other', 'CREATE EXTENSION lwtune; SELECT 1',
		stdout => \$stdout,
		stderr => \$stderr),
	0,
	'CREATE EXTENSION works there');
like($stderr, qr/WARNING:  lwtune is not in effect/, 'and warns');
is($node->psql('other', 'DROP EXTENSION lwtune'), 0, 'DROP EXTENSION too');
is( $node->safe_psql('postgres', "SET client_min_messages = error; LOAD 'lwtune'; " . text_query())
	  =~ tr/\n//,
	0,
	'a session that loaded it has stock text');

note 'session_preload_libraries';
$node->append_conf('postgresql.conf', "session_preload_libraries = 'lwtune'\n");
$node->restart;
is($node->psql('postgres', 'SELECT 2', stdout => \$stdout, stderr => \$stderr),
	0, 'a session that preloads it works');
like($stderr, qr/WARNING:  lwtune is not in effect/, 'and warns');
$node->append_conf('postgresql.conf', "session_preload_libraries = ''\n");

#
# Settings in the file that are wrong at start.
#
note 'wrong settings at start';
set_conf(
	$node,
	'shared_preload_libraries' => 'lwtune',
	'lwtune.spin_time'         => '0, WALInsert:20 parsecs',
	'lwtune.max_spinners'      => '-2',
	'lwtune.track'             => 'everything',
	'lwtune.no_such_setting'   => '1');
$from = log_from($node);
$node->restart;
is_in_force($node, 'wrong settings do not keep the server from starting');
$log = log_since($node, $from);
like(
	$log,
	qr/WARNING:  invalid value for parameter "lwtune.spin_time": "0, WALInsert:20 parsecs"\n.*DETAIL:  Element "WALInsert:20 parsecs" has the unknown unit "parsecs"/,
	'it warns of a list, and names the element');
like($log, qr/WARNING:  invalid value for parameter "lwtune.max_spinners": "-2"/,  'of a number');
like($log, qr/WARNING:  invalid value for parameter "lwtune.track": "everything"/, 'of a word');
like($log, qr/WARNING:  invalid configuration parameter name "lwtune.no_such_setting"/,
	'of a name');
is( $node->safe_psql(
		'postgres', q{SELECT string_agg(setting, ' ' ORDER BY name) FROM pg_settings
	WHERE name IN ('lwtune.spin_time', 'lwtune.max_spinners', 'lwtune.track')}),
	'-1 0 counts',
	'and goes on with the defaults');
is( $node->safe_psql('postgres', 'SELECT DISTINCT setting, value FROM lwtune_settings ORDER BY 1'),
	"max_spinners|-1\nspin_time|0",
	'in every tranche');
$node->stop;
$node->adjust_conf('postgresql.conf', 'lwtune.no_such_setting', undef);
set_conf(
	$node,
	'lwtune.spin_time'    => '20us',
	'lwtune.max_spinners' => '-1',
	'lwtune.track'        => 'counts');

#
# postgres -C
#
note 'postgres -C';
my @c    = ('postgres', '-D', $node->data_dir, '-C');
my $with = only_value(@c, 'shared_memory_size');
like($with, qr/^\d+\n$/, 'postgres -C shared_memory_size prints the value and nothing else');
my $without = only_value(@c, 'shared_memory_size', '-c', 'lwtune.enable=off');
like($without, qr/^\d+\n$/, 'also when it is off');
cmp_ok($with, '>', $without, "and counts lwtune's memory in");
is(only_value(@c, 'lwtune.enable'),
	"on\n", 'postgres -C lwtune.enable prints the value and nothing else');
is(only_value(@c, 'lwtune.enable', '-c', 'lwtune.enable=off'),
	"off\n", 'also from the command line');
is(only_value(@c, 'lwtune.spin_time'), "20us\n", 'postgres -C lwtune.spin_time');

sub only_value
{
	my @command = @_;
	my ($out, $err) = ('', '');

	IPC::Run::run(\@command, '>', \$out, '2>', \$err);
	return $out . ($err eq '' ? '' : "[$err]");
}

#
# Single-user mode.
#
note 'single-user mode';
my $query  = q{SELECT state AS state, count(*) AS n FROM lwtune_status GROUP BY 1};
my $output = single_user($query);
like($output, qr/state = "redirected".*\n.*n = "$functions"/, 'single-user mode takes over');
$output = single_user(
	q{SELECT value AS spin_time FROM lwtune_settings WHERE tranche = 'WALInsert' AND setting = 'spin_time'}
);
like($output, qr/spin_time = "20us"/, 'and has the settings');
$output = single_user("CREATE TABLE single AS SELECT generate_series(1, 10000) AS a");
unlike($output, qr/ERROR|FATAL|PANIC|WARNING/, 'it writes');
$output = single_user(q{SELECT sum(ex_acquire_count) > 0 AS counted FROM lwtune_stats});
like($output, qr/counted = "t"/, 'and counts');
$output = single_user('VACUUM FULL single', '-P');
unlike($output, qr/ERROR|FATAL|PANIC/, 'also without system indexes');
$output = single_user($query, '-c', 'lwtune.enable=off');
like($output, qr/state = "stock"/, 'it can be turned off there');
unlike($output, qr/lwtune (took|did not)/, 'silently');

#
# Binary upgrade.
#
note 'binary upgrade';
$output = single_user(text_query(), '-b');
like($output, qr/= "-\d{7,}"/, 'single-user mode in binary upgrade works');
is(() = $output =~ /= "\d+"/g, 0, 'and has stock text');
$from = log_from($node);
ok(start_by_hand($node, '-b'), 'a server in binary upgrade starts');
text_is_stock($node, 'and has stock text');
isnt($node->psql('postgres', 'SELECT * FROM lwtune_status', stderr => \$stderr),
	0, 'functions say that lwtune is not there');
unlike(
	log_since($node, $from),
	qr/lwtune (took|did not)|(WARNING|PANIC|FATAL)/,
	'nothing in the log');
ok(stop_by_hand($node), 'it stops');

#
# And back again.
#
$node->start;
is_in_force($node, 'the next normal start takes over again');
is($node->safe_psql('postgres', 'SELECT count(*) FROM single'),
	'10000', 'what single-user mode wrote is there');
$node->stop;

done_testing();
