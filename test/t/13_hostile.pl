# 13_hostile
#	  Every function and view of the extension, with whatever arguments, wherever
#	  a query may stand, by whoever may ask: the server stays up, nothing grows,
#	  nobody sees what is not his, nobody gets a superuser to run his code.
#
# What is called is read from the catalogs, so that a new function is tested
# before anybody thinks of it.  LWTUNE_SEED=N repeats a run's choices.
#
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run;
use LwtuneCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $seed = $ENV{LWTUNE_SEED} // int(time * 1000) % 1_000_000_000;
srand($seed);
note "LWTUNE_SEED=$seed";

my $node = new_node(
	'hostile',
	conf => qq{
max_connections = 30
lwtune.spin_time = 'auto'
lwtune.track = 'timing'
log_statement = none
log_min_messages = error
});
my $stdout;

$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION lwtune;
	CREATE EXTENSION lwtune_torture;
	CREATE EXTENSION dblink;
	SELECT lwtune_torture_create('private');
	CREATE ROLE hostile_plain LOGIN;
	CREATE ROLE hostile_monitor LOGIN IN ROLE pg_monitor;
	CREATE TABLE large AS SELECT repeat(md5(i::text), 100000) AS name FROM generate_series(1, 3) AS i;
	CREATE TABLE drops (n int);
	CREATE TABLE many AS SELECT i FROM generate_series(1, 10000) AS i;
	ALTER TABLE many SET (parallel_workers = 2);
	ANALYZE many;
	GRANT SELECT ON large, many TO PUBLIC;});
# where text may be any bytes
$node->safe_psql('postgres',
	"CREATE DATABASE bytes TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'");
$node->safe_psql('bytes',
	'CREATE EXTENSION lwtune; CREATE TABLE large (name text); CREATE TABLE many (i int)');

# The extension's functions, one "name(type, type)" a line, sets and others.
sub functions
{
	my ($condition) = @_;

	return split /\n/, $node->safe_psql(
		'postgres', qq{
		SELECT p.oid::regproc || '(' || coalesce((SELECT string_agg(format_type(t, NULL), ', ' ORDER BY n)
			FROM unnest(proargtypes::oid[]) WITH ORDINALITY AS a(t, n)), '') || ')'
		  FROM pg_depend AS d JOIN pg_proc AS p ON p.oid = d.objid
		 WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
		   AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'lwtune')
		   AND ($condition)
		 ORDER BY 1});
}

sub views
{
	return split /\n/, $node->safe_psql(
		'postgres', q{
		SELECT d.objid::regclass FROM pg_depend AS d
		 WHERE d.classid = 'pg_class'::regclass AND d.deptype = 'e'
		   AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'lwtune')
		 ORDER BY 1});
}

my %is_set = map { $_ => 1 } functions('proretset');
my @functions = functions('true');
my @views     = views();
cmp_ok(scalar(@functions), '>=', 4, 'the functions: ' . join(', ', @functions));
cmp_ok(scalar(@views), '>=', 3, 'the views: ' . join(', ', @views));

#
# Statements
#
sub pick { return $_[ rand @_ ] }

my %values = (
	text => [
		q{''}, q{' '}, q{'WALInsert'}, q{'walINSERT'}, q{'WALInsert '}, q{'ProcArray'}, q{'extension'},
		q{'other'}, q{'extension 80'}, q{'private'}, q{'%s%s%n%n%p%999999999d'},
		q{$x$'; DROP TABLE many; --$x$}, q{$x$"; DROP TABLE many; --$x$}, q{$x${a,"b}$x$}, q{'\\'},
		q{E'\n\r\t\x01\x7f'}, q{repeat('x', 62)}, q{repeat('x', 63)}, q{repeat('x', 64)},
		q{repeat('x', 65)}, q{repeat('WALInsert', 20000)}, q{repeat('%', 1000000)},
		q{(SELECT name FROM large LIMIT 1)}, q{string_agg('a', ',')}, q{current_setting('lwtune.spin_time')},
		q{(SELECT NULL::text)}, q{'<unassigned:0>'}, q{'0'}, q{'-1'}, q{'NULL'}, q{'auto'}
	],
	utf8  => [ q{repeat('ß', 32)}, q{'x' || repeat('城', 21)}, q{'WALInſert'}, q{U&'\+01F40D'}, q{chr(1114111)} ],
	bytes => [ q{E'\xff\xfe\x80'}, q{E'WALInsert\xc3'}, q{repeat(E'\xe5\x9f', 40)} ],
	integer  => [ 0, 1, -1, 42, 65535, 65536, 2147483647, -2147483648, 'pg_backend_pid()' ],
	bigint   => [ 0, 1, -1, 4294967296, 9223372036854775807, '(-9223372036854775808)' ],
	smallint => [ 0, -1, 32767, -32768 ],
	boolean  => [ 'true', 'false' ],
	oid      => [ 0, 1, 4294967295 ],
	interval => [ q{'0'}, q{'-1 day'}, q{'1 us'}, q{'178000000 years'} ],
	'double precision' => [ 0, -1, q{'NaN'}, q{'Infinity'}, q{'-Infinity'}, '1e308', '1e-308' ],
	'integer[]'        => [ q{'{}'}, q{'{NULL}'}, q{'{{1,2},{3,4}}'}, q{'[-5:-4]={1,2}'} ],
	'text[]'           => [ q{'{}'}, q{'{NULL}'}, q{'{{a},{b}}'} ]);

sub argument
{
	my ($type, $db) = @_;
	my @choices = @{ $values{$type} // [] };

	push @choices, @{ $values{ $db eq 'bytes' ? 'bytes' : 'utf8' } } if $type eq 'text';
	return "NULL::$type" if !@choices || rand() < 0.1;
	return '(' . pick(@choices) . ")::$type";
}

# A call, sometimes with the last arguments left out, or by itself.
sub call
{
	my ($db) = @_;
	my ($name, $types) = pick(@functions) =~ /^(.*)\((.*)\)$/;
	my @arguments = map { argument($_, $db) } split(/, /, $types);

	pop @arguments while @arguments && rand() < 0.05;
	push @arguments, argument(pick('text', 'integer'), $db) if rand() < 0.02;
	return "$name(" . join(', ', @arguments) . ')';
}

# What makes a statement of a call, where that may stand and where it may not.
my @contexts = (
	sub { "SELECT $_[0]" },
	sub { "SELECT * FROM $_[0]" },
	sub { "SELECT ($_[0]).*" },
	sub { "SELECT $_[0], $_[0]" },
	sub { "SELECT count(*) FROM generate_series(1, 20) AS g, LATERAL $_[0] AS f" },
	sub { "SELECT count($_[0]) FROM generate_series(1, 3)" },
	sub { "SELECT 1 FROM many WHERE $_[0] IS NULL LIMIT 3" },
	sub { "SELECT 1 WHERE ($_[0])::text = 'x'" },
	sub { "SELECT * FROM $_[0] WITH ORDINALITY LIMIT 1" },
	sub { "SELECT * FROM ROWS FROM ($_[0], generate_series(1, 500))" },
	sub { "SELECT * FROM $_[0] AS (x int, y text)" },
	sub { "SELECT CASE WHEN random() < 2 THEN ($_[0])::text END ORDER BY 1" },
	sub { "SELECT coalesce(($_[0])::text, 'x')" },
	sub { "VALUES ($_[0])" },
	sub { "CALL $_[0]" },
	sub { "SELECT sum(1) OVER (ORDER BY ($_[0])::text)" },
	sub { "SELECT array_agg(f) FROM (SELECT $_[0]) AS f" },
	sub { "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r, LATERAL (SELECT count($_[0])) AS c WHERE n < 5) SELECT max(n) FROM r" },
	sub { "CREATE TEMP TABLE hostile_t (x text DEFAULT ($_[0])); INSERT INTO hostile_t DEFAULT VALUES; DROP TABLE hostile_t" },
	sub { "CREATE INDEX ON many (($_[0]))" },
	sub { "CREATE TEMP TABLE hostile_c (x text CHECK (($_[0]) IS NULL)); INSERT INTO hostile_c VALUES ('x'); DROP TABLE hostile_c" },
	sub { "BEGIN READ ONLY; SELECT $_[0]; COMMIT" },
	sub { "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE; SELECT * FROM $_[0]; ROLLBACK" },
	sub { "BEGIN; SAVEPOINT a; SELECT $_[0]; ROLLBACK TO a; SAVEPOINT b; SELECT * FROM $_[0]; RELEASE b; COMMIT" },
	sub { "BEGIN; DECLARE c CURSOR FOR SELECT * FROM $_[0]; FETCH 1 FROM c; FETCH BACKWARD 1 FROM c; SAVEPOINT a; FETCH 2 FROM c; ROLLBACK TO a; MOVE LAST IN c; COMMIT" },
	sub { "BEGIN; DECLARE h SCROLL CURSOR WITH HOLD FOR SELECT $_[0]; FETCH 1 FROM h; COMMIT; FETCH BACKWARD 2 FROM h; FETCH ALL FROM h; CLOSE h" },
	sub { "DO \$do\$ BEGIN FOR i IN 1..20 LOOP BEGIN PERFORM $_[0]; RAISE division_by_zero; EXCEPTION WHEN OTHERS THEN NULL; END; END LOOP; END \$do\$" },
	sub { "PREPARE p AS SELECT $_[0]; EXECUTE p; EXECUTE p; DEALLOCATE p" },
	sub { "SET force_parallel_mode = on; SELECT * FROM $_[0]; SELECT $_[0]; RESET force_parallel_mode" },
	sub { "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SELECT count(*) FROM many WHERE i % 500 = 0 AND ($_[0]) IS NOT NULL; RESET parallel_setup_cost; RESET parallel_tuple_cost" },
	sub { "SET work_mem = 64; SET temp_file_limit = 0; SELECT count(*) FROM generate_series(1, 5) AS g, LATERAL $_[0] AS f; RESET work_mem; RESET temp_file_limit" },
	sub { "SET statement_timeout = 1; SELECT count(*) FROM generate_series(1, 500) AS g, LATERAL $_[0] AS f; RESET statement_timeout" },
	sub { "SET ROLE hostile_plain; SELECT $_[0]; RESET ROLE" },
	sub { "SET search_path = ''; SET ROLE hostile_monitor; SELECT * FROM $_[0]; RESET ROLE; RESET search_path" });

sub script
{
	my ($n, $db, @settings) = @_;
	my $script = join('', map { "SET $_;\n" } 'statement_timeout = 10000', @settings);

	# the limit of time that makes a statement fail is for those without their own
	foreach (1 .. $n)
	{
		my $statement = pick(@contexts)->(call($db));
		$statement =~ s/RESET statement_timeout/SET statement_timeout = 10000/;
		$script .= "$statement;\nROLLBACK;\n";
	}
	return $script;
}

my $nscripts = 0;

sub start_script
{
	my ($db, $script) = @_;
	my %session = (err => '');
	# not through a pipe: a session may be terminated before it has read all
	my $file = PostgreSQL::Test::Utils::tempdir() . '/script' . ++$nscripts;

	append_to_file($file, $script);
	$session{run} = IPC::Run::start(
		[
			'psql', '-XAtq', '-v', 'VERBOSITY=sqlstate', '-f', $file,
			'-d', $node->connstr($db) . ' application_name=hostile'
		],
		'>', '/dev/null', '2>', \$session{err},
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return \%session;
}

# How often there was which error.
sub finish_script
{
	my ($session) = @_;
	my %count;

	IPC::Run::finish($session->{run});
	$count{$1}++ while $session->{err} =~ /(?:ERROR|FATAL|PANIC):  (\w{5})/g;
	$count{lost}++ if $session->{err} =~ /server closed|connection to server was lost/;
	return %count;
}

sub told
{
	my (%count) = @_;
	return join(', ', map { "$count{$_} of $_" } sort keys %count);
}

my $born = $node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()');

sub is_up
{
	my ($name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	my ($crash) = slurp_file($node->logfile) =~
	  /^(.*(?:PANIC:|TRAP:|terminated by signal|exited with exit code (?!1\b)|not properly shut down).*)$/m;
	is($crash, undef, "$name: no process died");
	return is($node->safe_psql('postgres', 'SELECT pg_postmaster_start_time()'), $born, "$name: the server is up");
}

#
# One after the other: each either works or fails for a reason of the user's.
#
my $each   = 600;
my $before = time;
foreach my $db ('postgres', 'bytes')
{
	my %count = finish_script(start_script($db, script($each, $db)));
	my $timed_out = delete $count{57014} // 0;

	note "$db: " . told(%count, 57014 => $timed_out);
	is_deeply([ grep { /^(XX|58|57|08|lost|F0)/ || ($_ =~ /^53/ && $_ ne '53400') } keys %count ],
		[], "$each statements in database $db: no error of the server's own");
	# only the statements that ask for it, of which every second may be quick enough
	cmp_ok($timed_out, '<=', $each / 10, 'none takes long');
	ok(exists $count{42883} && keys %count >= 4, 'there were errors, and of several kinds');
}
note sprintf('%.1f s', time - $before);
is_up('statements one by one');
is($node->safe_psql('postgres', 'SELECT count(*) FROM many'), '10000', 'no text was taken for SQL');

#
# Several at once, while they are cancelled and terminated and the extension
# goes and comes back.
#
my $seconds = 6;
my @sessions = map { start_script('postgres', script(1500, 'postgres')) } 1 .. 3;
push @sessions, start_script(
	'postgres', qq{
	SET application_name = 'dropper';
	SET lock_timeout = '100ms';
	DO \$do\$
	DECLARE
		until timestamptz := clock_timestamp() + interval '$seconds s';
	BEGIN
		WHILE clock_timestamp() < until LOOP
			BEGIN
				DROP EXTENSION lwtune CASCADE;
				INSERT INTO drops VALUES (1);
			EXCEPTION WHEN lock_not_available THEN
				NULL;
			END;
			COMMIT;
			PERFORM pg_sleep(0.003);
			CREATE EXTENSION IF NOT EXISTS lwtune;
			COMMIT;
			PERFORM pg_sleep(0.02);
		END LOOP;
	END \$do\$;});
my $cancelled = $node->safe_psql(
	'postgres', qq{
	SET application_name = 'canceller';
	CREATE TEMP TABLE done (n int);
	DO \$do\$
	DECLARE
		until timestamptz := clock_timestamp() + interval '$seconds s';
		n int := 0;
	BEGIN
		PERFORM setseed(@{[ rand() ]});
		WHILE clock_timestamp() < until LOOP
			PERFORM pg_stat_clear_snapshot();
			n := n + (SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity
				WHERE application_name = 'hostile' AND random() < 0.5);
			PERFORM pg_sleep(0.01 * random());
		END LOOP;
		-- and the rest of them
		PERFORM pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'hostile';
		INSERT INTO done VALUES (n);
	END \$do\$;
	SELECT n FROM done;});
my %all;
foreach my $session (@sessions)
{
	my %count = finish_script($session);
	$all{$_} += $count{$_} foreach keys %count;
}
note "cancelled $cancelled times: " . told(%all);
cmp_ok($all{57014} // 0, '>=', 10, 'statements were cancelled in the middle');
cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM drops'), '>=', 10, 'and the extension dropped');
is_up('cancelled, terminated and dropped');
$node->safe_psql('postgres', 'DROP EXTENSION IF EXISTS lwtune; CREATE EXTENSION lwtune');
is_in_force($node, 'and its locks are lwtune\'s');
is( $node->safe_psql(
		'postgres', q{
		SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'LWLock' AND backend_type = 'client backend'}),
	'0',
	'nobody waits for a lock');

#
# Dropped while a cursor is half read, and while a plan knows the function.
#
my $stderr = '';
is( $node->psql(
		'postgres', q{
		PREPARE known AS SELECT count(*) > 0 FROM lwtune_stats();
		EXECUTE known;
		BEGIN;
		DECLARE half CURSOR FOR SELECT tranche FROM lwtune_stats();
		FETCH 3 FROM half;
		SELECT dblink_exec('dbname=postgres port=' || current_setting('port') ||
			' host=' || current_setting('unix_socket_directories'), 'DROP EXTENSION lwtune');
		SELECT count(*) > 0 FROM pg_cursors WHERE name = 'half';
		FETCH ALL FROM half;
		COMMIT;
		CREATE EXTENSION lwtune;
		EXECUTE known;},
		stdout => \$stdout, stderr => \$stderr),
	0,
	'dropped under a cursor');
is($stderr, '', 'which goes on');
like($stdout, qr/\At\n(?:\w+\n){3}DROP EXTENSION\nt\n(?:.+\n){30,}t\z/, 'and a plan is made anew');

#
# Nothing grows: memory contexts, the process, its files.
#
my $calls = 1500;
my @repeated = map {
	my ($name, $types) = /^(.*)\((.*)\)$/;
	my @types = split(/, /, $types);
	map {
		my $n = $_;
		"SELECT count(*) FROM $name(" . join(', ', map { ${ $values{$_} // ['NULL'] }[$n] . "::$_" } @types) . ')'
	} @types ? (0, 2) : (0)
} @functions;
foreach my $query (@repeated)
{
	my $answer = $node->safe_psql(
		'postgres', qq{
		SET client_min_messages = error;
		CREATE FUNCTION pg_temp.repeat_it(n int) RETURNS void LANGUAGE plpgsql AS \$f\$
		BEGIN
			FOR i IN 1..n LOOP
				BEGIN
					EXECUTE \$q\$$query\$q\$;
				EXCEPTION WHEN undefined_object OR invalid_parameter_value THEN
					NULL;
				END;
			END LOOP;
		END \$f\$;
		CREATE FUNCTION pg_temp.size() RETURNS bigint[] LANGUAGE sql AS \$f\$
			SELECT ARRAY[(SELECT sum(total_bytes) FROM pg_backend_memory_contexts)::bigint,
				split_part(pg_read_file('/proc/self/statm'), ' ', 2)::bigint * 4096,
				(SELECT count(*) FROM pg_ls_dir('/proc/self/fd'))] \$f\$;
		SELECT pg_temp.repeat_it(100);
		SELECT pg_temp.size() AS a \\gset
		SELECT pg_temp.size() AS a \\gset
		SELECT pg_temp.repeat_it($calls);
		SELECT pg_temp.size() AS b \\gset
		SELECT (:'b'::bigint[])[1] - (:'a'::bigint[])[1], (:'b'::bigint[])[2] - (:'a'::bigint[])[2],
			(:'b'::bigint[])[3] - (:'a'::bigint[])[3];});
	my ($contexts, $process, $files) = $answer =~ /^(-?\d+)\|(-?\d+)\|(-?\d+)$/m;
	ok($contexts < 32768 && $process < 500_000 && $files <= 0,
		"$calls times $query: $contexts bytes more in contexts, $process in the process, $files files");
}

#
# Who sees what.  Somebody holds a lock, somebody waits, with a word in their
# queries; a role without rights reads all that it can.
#
my $word   = 'word' . int(rand 1e9);
my @secret = map {
	start_query($node, "SET application_name = '$word'; SET ROLE hostile_monitor; RESET ROLE;
		SELECT '$word', lwtune_torture_hold('private', 'exclusive', 60000)")
} 1 .. 2;
wait_for($node, "(SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%$word%' AND application_name = '$word'
	AND state = 'active') = 2 AND EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'private')")
  or die "nobody waits\n";
my @pids = split /\n/, $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE application_name = '$word'");

# Everything that a role gets out of views and of functions without arguments.
sub leaks
{
	my ($role) = @_;
	my @leaks;

	foreach my $source (views(), grep { /\(\)$/ } functions('true'))
	{
		my $rows = '';
		$node->psql('postgres', "SET ROLE $role; SELECT e.key || '=' || e.value
			FROM $source AS t, LATERAL json_each_text(row_to_json(t)) AS e
			WHERE e.value IS NOT NULL AND e.key !~ '(count|calls)\$'",
			stdout => \$rows);
		push @leaks, "$source: the query" if $rows =~ /$word/;
		foreach my $pid (@pids)
		{
			push @leaks, "$source: a process" if $rows =~ /^\w+=[\[{(]?(?:\d+,)*$pid\b/m;
		}
		push @leaks, "$source: a column for the privileged"
		  if $rows =~ /^(?:pid|blocking_pids|query|queryid|userid|usename|dbid)=/m;
	}
	return @leaks;
}

is_deeply([ leaks('hostile_plain') ], [], 'a role without rights sees no query and no process');
$node->safe_psql(
	'postgres', q{
	CREATE FUNCTION lwtune_leak(OUT pid int, OUT application_name text) RETURNS SETOF record
		LANGUAGE sql SECURITY DEFINER AS 'SELECT pid, application_name FROM pg_stat_activity';
	ALTER EXTENSION lwtune ADD FUNCTION lwtune_leak()});
cmp_ok(scalar(leaks('hostile_plain')), '>=', 3, 'one that leaks would be noticed');
$node->safe_psql('postgres', 'ALTER EXTENSION lwtune DROP FUNCTION lwtune_leak(); DROP FUNCTION lwtune_leak()');

is( $node->safe_psql('postgres', qq{SET ROLE hostile_plain;
	SELECT DISTINCT query, wait_event FROM pg_stat_activity WHERE pid IN (@{[ join(',', @pids) ]})}),
	'<insufficient privilege>|',
	"nor does the server's own view show what they wait for");
foreach my $view (@views)
{
	cmp_ok(
		$node->safe_psql('postgres', "SET ROLE hostile_monitor; SELECT count(*) FROM $view"),
		'>', 0, "a role of pg_monitor reads $view");
}
foreach my $role ('hostile_plain', 'hostile_monitor')
{
	my @allowed = split /\n/, $node->safe_psql('postgres', qq{
		SELECT p.oid::regproc FROM pg_depend AS d JOIN pg_proc AS p ON p.oid = d.objid
		 WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
		   AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'lwtune')
		   AND has_function_privilege('$role', p.oid, 'EXECUTE')});
	is_deeply([ grep { /reset/ } @allowed ], [], "$role cannot reset");
	isnt($node->psql('postgres', "SET ROLE $role; ALTER SYSTEM SET lwtune.track = 'none'"),
		0, "$role cannot set");
}
$node->safe_psql('postgres', "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = '$word'");
finish_query($_) foreach @secret;

#
# Somebody who may create in the schema, and was there first.
#
$node->safe_psql('postgres', 'CREATE DATABASE trap; CREATE ROLE hostile_early LOGIN');
$node->safe_psql(
	'trap', q{
	GRANT CREATE ON SCHEMA public TO hostile_early;
	CREATE SCHEMA early AUTHORIZATION hostile_early;
	SET ROLE hostile_early;
	CREATE FUNCTION early.lwtune_settings(OUT tranche text) RETURNS SETOF text LANGUAGE sql AS $$ SELECT 'trap'::text $$;
	CREATE FUNCTION early.lwtune_stats(OUT tranche text) RETURNS SETOF text LANGUAGE sql AS $$ SELECT 'trap'::text $$;
	CREATE FUNCTION early.lwtune_status(OUT function text) RETURNS SETOF text LANGUAGE sql AS $$ SELECT 'trap'::text $$;});
$node->safe_psql('trap', 'SET search_path = early, public; CREATE EXTENSION lwtune SCHEMA public');
is( $node->safe_psql(
		'trap', q{
		SELECT count(*) FROM pg_depend AS v
		  JOIN pg_rewrite AS r ON r.ev_class = v.objid
		  JOIN pg_depend AS u ON u.classid = 'pg_rewrite'::regclass AND u.objid = r.oid AND u.refclassid = 'pg_proc'::regclass
		 WHERE v.classid = 'pg_class'::regclass AND v.deptype = 'e' AND v.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'lwtune')
		   AND u.refobjid NOT IN (SELECT objid FROM pg_depend
				WHERE classid = 'pg_proc'::regclass AND deptype = 'e' AND refobjid = v.refobjid)}),
	'0',
	'no view calls a function that was there before');
is( $node->safe_psql(
		'trap', q{SET search_path = early, public;
		SELECT count(*) FROM public.lwtune_status WHERE function = 'trap'}),
	'0',
	'nor does one in the search path come in between');
is( $node->safe_psql(
		'trap', q{
		SELECT count(*) FROM pg_depend AS d JOIN pg_proc AS p ON p.oid = d.objid
		 WHERE d.classid = 'pg_proc'::regclass AND d.deptype = 'e'
		   AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'lwtune')
		   AND (prosecdef OR proowner <> 10)}),
	'0',
	"no function runs with its owner's rights, or has another owner");
$node->safe_psql('trap', 'DROP EXTENSION lwtune');
foreach my $object (
	'VIEW public.lwtune_stats AS SELECT 1 AS tranche',
	'FUNCTION public.lwtune_reset(text) RETURNS void LANGUAGE sql AS $$$$',
	'FUNCTION public.lwtune_status(x int DEFAULT 0, OUT tranche text) LANGUAGE sql AS $$ SELECT \'trap\'::text $$',
	'FUNCTION public.lwtune_stats(VARIADIC x text[] DEFAULT \'{}\', OUT tranche text) LANGUAGE sql AS $$ SELECT \'trap\'::text $$')
{
	$node->safe_psql('trap', "SET ROLE hostile_early; CREATE $object");
	isnt($node->psql('trap', 'CREATE EXTENSION lwtune SCHEMA public', stderr => \$stderr), 0, "CREATE $object: who was first");
	like($stderr, qr/already exists|is not a member of extension|is not unique/, 'keeps the extension out, rather than getting into it');
	$node->safe_psql('trap', 'DROP ' . ($object =~ /^(\w+ [\w.]+)/)[0]);
}

is_up('and in the end');
$node->stop;
done_testing();
