# 04_reload
#	  Settings are changed while the server works, and take effect at once, in
#	  processes in the middle of a long query too.
#
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use LwtuneCluster;
use PostgreSQL::Test::Utils;
use Test::More;

# The promise, in ms.  Other things may run on the machine, so the middle one
# of several measurements has to keep it.
my $at_once = 100;
my $rounds  = 7;

my $node = new_node('reload');
my $stderr;

$node->start;
$node->safe_psql(
	'postgres', q{
	CREATE EXTENSION lwtune;
	CREATE EXTENSION lwtune_torture;
	SELECT lwtune_torture_create('long');

	-- Is nothing counted for some milliseconds?
	CREATE FUNCTION stands_still(tranche text) RETURNS boolean LANGUAGE plpgsql AS $$
	DECLARE
		before lwtune_stats;
		after lwtune_stats;
	BEGIN
		SELECT * INTO before FROM lwtune_stats s WHERE s.tranche = $1;
		PERFORM pg_sleep(0.01);
		SELECT * INTO after FROM lwtune_stats s WHERE s.tranche = $1;
		RETURN before = after;
	END $$;});

sub setting
{
	my ($tranche, $name, $column) = @_;
	$column //= 'value';
	return $node->safe_psql('postgres',
		"SELECT $column FROM lwtune_settings WHERE tranche = \$x\$$tranche\$x\$ AND setting = '$name'"
	);
}

sub spins
{
	my ($tranche) = @_;
	return
	  "spin_acquire_count + spin_fail_count FROM lwtune_stats WHERE tranche = \$x\$$tranche\$x\$";
}

# How many there were in so many seconds.
sub spins_in
{
	my ($seconds) = @_;
	my $answer = $node->safe_psql('postgres', "SELECT pg_sleep($seconds); SELECT " . spins('long'));

	return (split /\n/, $answer)[1];
}

# Change settings without a reload.
sub write_settings
{
	my (%settings) = @_;

	$node->safe_psql('postgres', "ALTER SYSTEM SET lwtune.$_ = \$x\$$settings{$_}\$x\$")
	  foreach sort keys %settings;
	return;
}

sub middle_of
{
	my (@values) = sort { $a <=> $b } map { $_ // 1e9 } @_;
	return $values[ @values / 2 ];
}

sub list_of
{
	return join(', ', map { defined $_ ? sprintf('%.1f ms', $_) : 'never' } @_);
}

my $reload = 'PERFORM pg_reload_conf();';

#
# Two processes in one long query each, all the time.
#
my @long = map {
	start_query($node, "SELECT lwtune_torture_run('long', 'exclusive', 200, 50, 600000) -- long")
} 1 .. 2;
ok(wait_for($node, q{block_count > 100 FROM lwtune_stats WHERE tranche = 'long'}),
	'two processes contend for a lock');
is($node->safe_psql('postgres', 'SELECT ' . spins('long')), '0', 'and do not spin');

#
# spin_time, on and off.  (With one processor nobody would spin by default.)
#
write_settings(max_spinners => '1');
my (@on, @off);
foreach my $round (1 .. $rounds)
{
	write_settings(spin_time => 'long:50us');
	$node->safe_psql('postgres', "SELECT lwtune_reset('long')");
	push @on, elapsed_until($node, $reload, spins('long') =~ s/ FROM/ > 0 FROM/r);
	last unless defined $on[-1];

	write_settings(spin_time => '0');
	push @off,
	  elapsed_until($node, $reload,
		q{value = '0' FROM lwtune_settings WHERE tranche = 'long' AND setting = 'spin_time'});
	# whoever spins just now ends it
	$node->safe_psql('postgres', "SELECT pg_sleep(0.05), lwtune_reset('long')");
	my $answer = spins_in(0.1);
	# (a process may have been off its processor in the middle of a spin)
	cmp_ok($answer + 0, '<=', 2, 'nobody spins any more')
	  if $answer > 2 || $round == $rounds;
}
note 'spin_time is changed, and processes spin after: ' . list_of(@on);
cmp_ok(middle_of(@on), '<=', $at_once,
	"processes in a long query begin to spin within $at_once ms of a reload");
cmp_ok(middle_of(@off), '<=', $at_once, 'and end it');

#
# max_spinners: none at all.
#
write_settings(spin_time => 'long:50us', max_spinners => '0');
ok( defined elapsed_until(
		$node, $reload,
		q{value = '50us' FROM lwtune_settings WHERE tranche = 'long' AND setting = 'spin_time'}),
	'a time to spin, and nobody who may');
$node->safe_psql('postgres', "SELECT pg_sleep(0.05), lwtune_reset('long')");
cmp_ok(spins_in(0.2), '<=', 2, 'max_spinners = 0: nobody spins');
write_settings(max_spinners => 'long:1');
ok(defined elapsed_until($node, $reload, spins('long') =~ s/ FROM/ > 0 FROM/r),
	'max_spinners = 1: they do');

#
# auto.
#
write_settings(spin_time => 'auto');
ok( defined elapsed_until(
		$node, $reload,
		q{value = 'auto' FROM lwtune_settings WHERE tranche = 'long' AND setting = 'spin_time'}),
	'auto');
$node->safe_psql('postgres', "SELECT pg_sleep(0.05), lwtune_reset('long')");
ok(wait_for($node, spins('long') =~ s/ FROM/ > 100 FROM/r), 'processes spin');
like(setting('long', 'spin_time', 'learned'), qr/^(0|[0-9.]+(us|ms)(, a look every [0-9.]+us)?)$/,
	'what was learned is shown');
is(setting('ProcArray', 'spin_time', 'source'), 'default', 'it is the default of all tranches');

#
# track, none and counts.
#
my (@none, @counts);
foreach my $round (1 .. $rounds)
{
	write_settings(track => 'none');
	push @none, elapsed_until($node, $reload, "stands_still('long')");
	last unless defined $none[-1];

	write_settings(track => 'counts');
	push @counts,
	  elapsed_until($node, $reload,
		q{ex_acquire_count > 0 FROM lwtune_stats WHERE tranche = 'long'});
	last unless defined $counts[-1];
}
note 'track is changed to none, and nothing is counted after: ' . list_of(@none);
note 'track is changed to counts, and processes count after: ' . list_of(@counts);
cmp_ok(middle_of(@counts), '<=', $at_once,
	"processes in a long query begin to count within $at_once ms of a reload");
cmp_ok(middle_of(@none), '<=', $at_once, 'and end it with track = none');
write_settings(track => 'timing');
ok( defined elapsed_until(
		$node, $reload,
		q{wait_time > 0 AND max_wait_time > 0 FROM lwtune_stats WHERE tranche = 'long'}),
	'track = timing: they read the clock');

is( $node->safe_psql(
		'postgres',
		q{SELECT count(*) FROM pg_stat_activity WHERE query ~ '-- long' AND state = 'active' AND pid <> pg_backend_pid()}
	),
	'2',
	'all this in the middle of one query each');
$node->safe_psql('postgres',
	q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query ~ '-- long' AND pid <> pg_backend_pid()}
);

foreach my $session (@long)
{
	my ($out, $err) = finish_query($session);
	like($err, qr/canceling statement due to user request/, 'which only ends when it is told to');
}

#
# Names that nothing bears yet.
#
note 'unmatched names';
my $names =
  q{2us, later:11us, "My Tranche":12us, "quo""ted":13us, "Tränche, très long":14us, LATER.2:15us};
my @names = (
	[ 'later'              => 'later',              '11us' ],
	[ 'my tranche'         => 'My Tranche',         '12us' ],
	[ 'quo"ted'            => 'quo"ted',            '13us' ],
	[ 'Tränche, très long' => 'Tränche, très long', '14us' ],
	[ 'Later.2'            => 'LATER.2',            '15us' ]);
my $from = log_from($node);
set_live($node, spin_time => $names, max_spinners => undef, track => undef);
ok( wait_for(
		$node,
		q{value = '2us' FROM lwtune_settings WHERE tranche = 'ProcArray' AND setting = 'spin_time'}
	),
	'a list with such names is in force');
my $log = log_since($node, $from);

foreach my $name (map { $_->[1] } @names)
{
	is( scalar(
			() =
			  $log =~
			  /LOG:  lwtune.spin_time: no tranche is named "\Q$name\E" so far; its value takes effect when there is one/g
		),
		1,
		"one line of the log tells of \"$name\"");
}
is( $node->safe_psql(
		'postgres',
		q{SELECT string_agg(tranche || '=' || value || ' ' || source, ', ' ORDER BY value) FROM lwtune_settings WHERE NOT matched}
	),
	'later=11us tranche, My Tranche=12us tranche, quo"ted=13us tranche, Tränche, très long=14us tranche, LATER.2=15us tranche',
	'all of them are shown as unmatched');

$from = log_from($node);
$node->reload;
set_live($node, max_spinners => '2');
ok( wait_for(
		$node,
		q{value = '2' FROM lwtune_settings WHERE tranche = 'ProcArray' AND setting = 'max_spinners'}
	),
	'another reload');
unlike(log_since($node, $from), qr/no tranche is named/, 'does not tell of them again');

$from = log_from($node);
my @matched;
foreach (@names)
{
	my ($created, $written, $value) = @$_;
	my $ms = elapsed_until(
		$node,
		"PERFORM lwtune_torture_create(\$x\$$created\$x\$);",
		"matched AND value = '$value' FROM lwtune_settings WHERE tranche = \$x\$$created\$x\$ AND setting = 'spin_time'"
	);
	ok(defined $ms, "\"$created\" is created, and takes the value of \"$written\"");
	push @matched, $ms;
}
note 'a tranche is created, and has its value after: ' . list_of(@matched);
cmp_ok(middle_of(@matched), '<=', $at_once, 'at once');
is($node->safe_psql('postgres', 'SELECT count(*) FROM lwtune_settings WHERE NOT matched'),
	'0', 'none is unmatched any more');
unlike(log_since($node, $from), qr/SIGHUP/, 'all that without a reload');

# and it is so in the locks, not only in the view
set_live($node, max_spinners => '1', spin_time => '"My Tranche":50us');
ok( wait_for(
		$node,
		q{value = '0' FROM lwtune_settings WHERE tranche = 'later' AND setting = 'spin_time'}),
	'a name that left the list has the default');
together($node,
	map { "SELECT lwtune_torture_run('my tranche', 'exclusive', 200, 50, 500)" } 1 .. 2);
together($node, map { "SELECT lwtune_torture_run('later', 'exclusive', 200, 50, 500)" } 1 .. 2);
cmp_ok($node->safe_psql('postgres', 'SELECT ' . spins('my tranche')),
	'>', 0, 'processes spin for the locks of the one tranche');
is($node->safe_psql('postgres', 'SELECT ' . spins('later')), '0', 'not for those of the other');

#
# A bad value in the file.
#
note 'bad values';
$from = log_from($node);
$node->safe_psql('postgres', 'ALTER SYSTEM RESET ALL');
$node->append_conf('postgresql.conf',
	"lwtune.spin_time = '3us, WALInsert:33us'\nlwtune.max_spinners = '3'\n");
$node->reload;
ok( wait_for(
		$node,
		q{value = '33us' FROM lwtune_settings WHERE tranche = 'WALInsert' AND setting = 'spin_time'}
	),
	'a good value in the file');
foreach my $bad (
	'4us, WALInsert:forty',          '4us, 4us',
	'4us,',                          'WALInsert:-1us',
	'WALInsert:4 us, walinsert:5us', '11ms')
{
	$from = log_from($node);
	$node->append_conf('postgresql.conf', "lwtune.spin_time = '$bad'\nlwtune.max_spinners = '4'\n");
	$node->reload;
	ok( $node->wait_for_log(
			qr/LOG:  invalid value for parameter "lwtune.spin_time": "\Q$bad\E"/, $from),
		"bad: $bad");
	like(
		log_since($node, $from),
		qr/DETAIL:  Element .*\n.*HINT:  .*/,
		'the log says what is wrong with it');
	$node->safe_psql('postgres', 'SELECT pg_sleep(0.1)');
	is(setting('WALInsert', 'spin_time') . ' ' . setting('ProcArray', 'spin_time'),
		'33us 3us', 'the old value stays');
	$node->append_conf('postgresql.conf',
		"lwtune.spin_time = '3us, WALInsert:33us'\nlwtune.max_spinners = '3'\n");
}
$node->reload;
ok( wait_for(
		$node,
		q{value = '3' FROM lwtune_settings WHERE tranche = 'WALInsert' AND setting = 'max_spinners'}
	),
	'and good again');

# Long lists: what is wrong is named, however long the rest; and there is an end.
my $long = join(',', map { "nobody_$_:1us" } 1 .. 900);
cmp_ok(length $long, '>', 10_000, 'a list of 10,000 characters');
isnt(
	$node->psql(
		'postgres',
		"ALTER SYSTEM SET lwtune.spin_time = '$long,nobody_900:2us'",
		stderr => \$stderr),
	0,
	'with a mistake at its end');
like(
	$stderr,
	qr/DETAIL:  Element "nobody_900:2us" repeats tranche "nobody_900"\./,
	'is refused for it');
isnt(
	$node->psql(
		'postgres',
		"ALTER SYSTEM SET lwtune.spin_time = '" . ('x' x 10_000) . ":1us'",
		stderr => \$stderr),
	0,
	'a name of 10,000 characters');
like(
	$stderr,
	qr/DETAIL:  Element "x{96}\.\.\." has a tranche name of 10000 bytes, more than 63\./,
	'is refused, and not repeated');
isnt(
	$node->psql(
		'postgres',
		"ALTER SYSTEM SET lwtune.spin_time = '0" . (' ' x 70_000) . "'",
		stderr => \$stderr),
	0,
	'a list of 70,000 characters');
like($stderr, qr/DETAIL:  The list that begins with "0 +\.\.\." has 70001 bytes, more than 65536\./,
	'is too long');
my $many = join(',', map { "n$_:0" } 1 .. 4097);
isnt($node->psql('postgres', "ALTER SYSTEM SET lwtune.spin_time = '$many'", stderr => \$stderr),
	0, 'a list of 4097 tranches');
like(
	$stderr,
	qr/DETAIL:  Element "n4097:0" is one too many: a list names at most 4096 tranches\./,
	'names too many');
is(setting('WALInsert', 'spin_time'), '33us', 'and nothing has changed');

$node->stop;
unlike(slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal/, 'no process crashed');
done_testing();
