# 02_refuse
#	  Whatever keeps lwtune from taking over, the server starts with its own
#	  locks, its text unchanged, and says why.
#
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use IPC::Run;
use LwtuneBuild;
use LwtuneCluster;
use LwtuneElf;
use LwtuneText;
use PostgreSQL::Test::Utils;
use Test::More;

my $fault     = build_library('lwtune_fault');
my $fault_log = PostgreSQL::Test::Utils::tempdir() . '/faults';
my $node      = new_node('refuse');
chomp(my $postgres = `pg_config --bindir`);
$postgres .= '/postgres';
my $ntargets = ntargets();

# A function of the server that nothing here calls, far from the locks.
my $never_called = 'dsynonym_init';

$node->start;
$node->safe_psql('postgres',
	'CREATE EXTENSION lwtune; CREATE EXTENSION lwtune_torture; CREATE SEQUENCE work');
$node->stop;

# What the server's mappings look like when lwtune has touched nothing.
set_conf($node, 'lwtune.enable' => 'off');
$node->start;
my $untouched = $node->safe_psql('postgres',
	"SELECT string_agg(mapping, ', ') FROM (" . mappings_query() . ") AS answer(mapping)");
$node->stop;
set_conf($node, 'lwtune.enable' => 'on');

# What is asked of each server, in this order; each answer is one text.
my @questions = (
	states =>
	  q{SELECT string_agg(state || '=' || n, ' ') FROM (SELECT state, count(*) AS n FROM lwtune_status GROUP BY 1) AS s},
	reason   => q{SELECT coalesce(string_agg(DISTINCT reason, ' + '), '') FROM lwtune_status},
	function => q{SELECT coalesce(string_agg(function, ' + '), '') FROM lwtune_status
		WHERE reason IS NOT NULL AND (SELECT count(reason) < count(*) FROM lwtune_status)},
	calls => q{SELECT count(calls) FROM lwtune_status},
	rows  =>
	  q{SELECT (SELECT count(*) FROM lwtune_stats) || ' ' || (SELECT count(*) FROM lwtune_settings)},
	created => q{SELECT lwtune_torture_create('refuse') > 0},
	locked  => q{SELECT lwtune_torture_acquires('refuse', 'exclusive', 1000)},
	worked  => q{SELECT nextval('work') > 0},
	changed =>
	  q{SELECT count(*) FILTER (WHERE differs_at >= 0) || CASE WHEN min(differs_at) < -1000000 THEN '' ELSE ', but not compared' END
		FROM (} . text_query() . ') AS answer(differs_at)',
		mappings => 'SELECT string_agg(mapping, \', \') FROM ('
	  . mappings_query()
	  . ') AS answer(mapping)');

# Start with something in the environment, maybe another executable, and see
# what came of it.  Returns undef if the server did not start.
sub outcome
{
	my (%environment)  = @_;
	my $executable     = delete $environment{executable};
	my $from           = log_from($node);
	my @questions_left = @questions;
	my $script         = '';

	{
		local %ENV = (%ENV, %environment);
		return undef unless start_by_hand($node, undef, $executable);
	}
	while (my ($key, $question) = splice(@questions_left, 0, 2))
	{
		$script .= "SELECT '$key = ' || ($question);\n";
	}
	my $answers = $node->safe_psql('postgres', $script);
	my $log     = log_since($node, $from);
	stop_by_hand($node);
	return {
		$answers =~ /^(\w+) = (.*)$/mg,
		warnings  => join(' + ', $log =~ /WARNING:  (.*)/g),
		took_over => scalar(() = $log =~ /lwtune took over/g)
	};
}

# The same in single-user mode, which is quicker.
sub outcome_single
{
	my (%environment)  = @_;
	my @command        = ('postgres', '--single', '-D', $node->data_dir, 'postgres');
	my @questions_left = @questions;
	my ($script, $output) = ('', '');

	while (my ($key, $question) = splice(@questions_left, 0, 2))
	{
		# it takes a line for a whole query
		$script .= "SELECT ($question)::text AS $key" =~ s{\s+}{ }gr . "\n";
	}
	{
		local %ENV = (%ENV, %environment);
		IPC::Run::run(\@command, '<', \$script, '>', \$output, '2>', \$output);
	}
	return {
		$output =~ /^\t 1: (\w+) = "(.*)"\t\(typeid/mg,
		warnings  => join(' + ', $output =~ /WARNING:  (.*)/g),
		took_over => scalar(() = $output =~ /lwtune took over/g)
	};
}

# Pages that were put back are mappings of their own.
sub compact
{
	my ($mappings) = @_;

	1 while $mappings =~ s/(?<!\S)(\S+ postgres), \1/$1/g;
	return $mappings;
}

# All that has to be so if the takeover was refused, whatever for.
sub is_refused
{
	my ($outcome, $reason, $name, %except) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return fail("$name: the server starts") unless defined $outcome;
	my %found = (
		%$outcome,
		reason   => $outcome->{reason} =~ $reason ? 'as expected' : $outcome->{reason},
		mappings => compact($outcome->{mappings}));
	return is_deeply(
		\%found,
		{
			states    => "refused=$ntargets",
			reason    => 'as expected',
			function  => '',
			calls     => '0',
			rows      => '0 0',
			created   => 'true',
			locked    => '1000',
			worked    => 'true',
			warnings  => "lwtune did not take over the server's locks: $outcome->{reason}",
			took_over => 0,
			changed   => 0,
			mappings  => compact($untouched),
			%except
		},
		"$name: $outcome->{reason}");
}

sub is_taken_over
{
	my ($outcome, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return fail("$name: the server starts") unless defined $outcome;
	return is_deeply(
		{ map { $_ => $outcome->{$_} } qw(states reason warnings took_over locked worked) },
		{
			states    => "redirected=$ntargets",
			reason    => '',
			warnings  => '',
			took_over => 1,
			locked    => '1000',
			worked    => 'true'
		},
		$name);
}

sub with_fault
{
	my ($spec, $try) = @_;

	unlink $fault_log;
	my $outcome = $try->(
		LD_PRELOAD       => $fault,
		LWTUNE_FAULT     => $spec,
		LWTUNE_FAULT_LOG => $fault_log);
	return ($outcome, -e $fault_log ? slurp_file($fault_log) : '');
}

#
# Each call of each of these, in turn, until there are no more of them.
#
my %reason_for = (
	mmap            => qr/cannot map/,
	mprotect        => qr/cannot make|cannot write-protect/,
	mremap          => qr/cannot move/,
	open            => qr{cannot open /proc/self/exe},
	pread           => qr/cannot read the server's executable/,
	opendir         => qr/cannot count threads/,
	readdir         => qr/cannot count threads|the postmaster has 0 threads/,
	eof             => qr/cannot read the server's executable/,
	dlopen          => qr/symbols cannot be read/,
	dlsym           => qr/does not export/,
	dladdr1         => qr/length of \w+ is not known/,
	dl_iterate_phdr => qr/segments of the server's executable were not found/,
	sigprocmask     => qr/cannot block signals/,
	malloc          => qr/out of memory/,
	mdwe            => qr/PR_SET_MDWE/);
my %calls;
my %least = (mmap => 3, mprotect => 4, mremap => 2, dlsym => $ntargets, dladdr1 => $ntargets);

foreach my $function (sort keys %reason_for)
{
	my $number = 1;

	for (;; $number++)
	{
		my ($outcome, $fired) = with_fault(
			"$function:$number",
			# look-ups are many, and nothing has been touched by then
			$function =~ /^dl/ && $number > 1 ? \&outcome_single : \&outcome);

		if ($fired eq '')
		{
			is_taken_over($outcome, "$function: there is no call $number");
			last;
		}
		# that signals are not blocked any more is nothing to fail for, nor that
		# there is no entry where there is none
		last if $function eq 'sigprocmask' && $number > 1;
		last if $function eq 'readdir' && $outcome && $outcome->{took_over};

		my @function =
		  $outcome && $function =~ /^(dlsym|dladdr1)$/
		  ? (function => ($outcome->{reason} =~ /(?:export|length of) (\w+)/)[0])
		  : ();
		is_refused($outcome, $reason_for{$function}, "$function fails at call $number", @function);
	}
	$calls{$function} = $number - 1;
	cmp_ok($calls{$function}, '>=', $least{$function} // 1, "$function was made to fail");
}

#
# What it can do without.
#
my ($outcome, $fired);
my %harmless = (
	prctl    => 'a kernel that does not know of PR_GET_MDWE',
	madvise  => 'memory that is not mapped in advance',
	munmap   => 'scratch memory that cannot be given back',
	close    => 'a file that does not close well',
	closedir => 'a folder that does not',
	dlclose  => 'symbols that are not given back',
	short    => 'a file that is read in pieces',
	taken    => 'memory that is in use where the island was to be',
	near     => 'a kernel that takes the place for a hint');
foreach my $function (sort keys %harmless)
{
	($outcome, $fired) = with_fault("$function:1", \&outcome);
	isnt($fired, '', "$harmless{$function}:");
	is_taken_over($outcome, "$function that fails is no reason to refuse");
	next if $function =~ /^(taken|near)$/;
	($outcome, $fired) = with_fault("$function:1+", \&outcome_single);
	is_taken_over($outcome, "nor is one that always fails");
}
foreach my $function ('taken', 'near')
{
	($outcome, $fired) = with_fault("$function:1+", \&outcome);
	is_refused(
		$outcome,
		qr/^no free memory within reach of a near jump from the server's text$/,
		'no place for the island');
}

#
# Is that all?  Every function of the C library that the takeover calls is in
# one of the two lists, or here because it cannot fail.
#
my %cannot_fail = map { $_ => 1 }
  qw(__errno_location __stack_chk_fail clock_gettime dlerror free sigfillset strcmp strtol sysconf
  memcpy memset memmove memcmp strlen);
my $source = ($ENV{TESTDIR} // '.') . '/../src';
my %called = map { $_ => 1 } map { /^\s+U (\w+)/mg } map { `nm -u $_` } glob("$source/patch_*.o");
my %ours   = map { $_ => 1 } map { /^\w+ \w (\w+)/mg } map { `nm --defined-only $_` } glob("$source/*.o");
my $server = LwtuneElf->read($postgres);
ok($called{mremap}, 'what the takeover calls is known');
is_deeply(
	[
		grep { !$reason_for{$_} && !$harmless{$_} && !$cannot_fail{$_} && !$ours{$_} && !$server->defines($_) }
		  grep { $_ ne '_GLOBAL_OFFSET_TABLE_' } sort keys %called
	],
	[],
	'each of these calls was made to fail');

#
# No way back: rather no server than one with half of its locks replaced.
#
($outcome, $fired) =
  with_fault("mremap:$calls{mremap},mmap:" . ($calls{mmap} + 1) . '+', \&outcome);
like($fired, qr/mremap.*mmap/s, 'a failure, and another one on the way back');
is($outcome, undef, 'keep the server from starting');
like(
	slurp_file($node->logfile),
	qr/FATAL:  lwtune could not restore the server's text after "cannot move changed text into place: .*"; remove lwtune from shared_preload_libraries/,
	'which says what to do');

#
# What the kernel forbids.
#
my %reason_by = (
	'mdwe'             => qr/may not make written memory executable \(PR_SET_MDWE\)/,
	'seccomp'          => qr/cannot make changed text executable: .*MemoryDenyWriteExecute/,
	'seccomp-mprotect' => qr/cannot make changed text executable: Permission denied .*SELinux execmod/,
	'seccomp-mremap'   => qr/cannot move a page of executable memory: Operation not permitted/);
foreach my $by (sort keys %reason_by)
{
	my %environment = (LD_PRELOAD => $fault, LWTUNE_FAULT_PROCESS => $by);
	my $status;

	{
		local %ENV = (%ENV, %environment);
		$status = system('true');
	}
  SKIP:
	{
		skip "the kernel does not know $by", 1 if $status != 0;
		is_refused(outcome(%environment), $reason_by{$by}, "$by of the kernel");
		next if $by ne 'mdwe';

		# in force, but not told of: then the kernel's refusal tells
		is_refused(
			outcome(%environment, LWTUNE_FAULT => 'prctl:1'),
			qr/cannot make changed text executable: Permission denied/,
			"$by of the kernel, not told of");
	}
}

#
# Other libraries that come first.
#
my $foreign = build_library('foreign_entry') =~ s/\.so$//r;
set_conf($node, shared_preload_libraries => "$foreign,lwtune");
is_taken_over(outcome(), 'a library that does nothing');

# The function is one that the server never calls; the byte is left alone, for
# it is not ours.
my $entry    = 'ForEachLWLockHeldByMe';
my $original = LwtuneElf->read($postgres);
my $behind   = $original->function($entry)->{size};
foreach my $at (0, 1, $behind - 1, $behind)
{
	$outcome = outcome(FOREIGN_ENTRY => "$entry:$at:e9");
	is_refused(
		$outcome,
		qr/text differs from its file in memory at .*offset 0x[0-9a-f]+: something else has changed it/,
		"another library writes at $at",
		function => $at < $behind ? $entry : '',
		changed  => 1,
		mappings => compact($outcome->{mappings}));
}

# Elsewhere in the text it is no business of lwtune.
$outcome = outcome(FOREIGN_ENTRY => "$never_called:0:cc");
is_taken_over($outcome, 'another library writes elsewhere');

set_conf($node, shared_preload_libraries => "lwtune,$foreign");
is_taken_over(outcome(), 'a library that comes after');

my $thread = build_library('foreign_thread') =~ s/\.so$//r;
set_conf($node, shared_preload_libraries => "$thread,lwtune");
$outcome = outcome();
is_refused(
	$outcome,
	qr/the postmaster has 2 threads, a library loaded before lwtune started some: list lwtune first/,
	"another library's thread");
set_conf($node, shared_preload_libraries => "lwtune,$thread");
is_taken_over(outcome(), 'a thread that comes after');
set_conf($node, shared_preload_libraries => 'lwtune');

#
# Executables that are not as a compiler made them.
#
my $folder = PostgreSQL::Test::Utils::tempdir();

# Start a copy that a function has changed.
sub outcome_of_copy
{
	my ($change, %environment) = @_;
	my $copy = LwtuneElf->read($postgres);

	$change->($copy);
	$copy->write("$folder/postgres");
	return outcome(executable => "$folder/postgres", %environment);
}

is_taken_over(outcome_of_copy(sub { }), 'a copy of the server is as good');

my %foreign_code = (
	"\xe9\0\0\0\0"                     => 'a jump',
	"\xff\x25\0\0\0\0"                 => 'an indirect jump',
	"\xe8\0\0\0\0"                     => 'a call of a tracer',
	"\xcc"                             => 'a breakpoint',
	"\x0f\x0b"                         => 'an invalid instruction',
	"\x48\xb8\0\0\0\0\0\0\0\0\xff\xe0" => 'an absolute jump');
SKIP:
{
	skip 'these instructions are of another architecture', 1
	  unless `uname -m` eq "x86_64\n";
	foreach my $code (sort keys %foreign_code)
	{
		my $what = $foreign_code{$code};
		is_refused(
			outcome_of_copy(sub { $_[0]->set_code($entry, $code) }),
			qr/^\Q$entry starts with $what: something else has changed it in the file\E$/,
			'patched in the file',
			function => $entry);
	}
}

is_refused(
	outcome_of_copy(sub { $_[0]->set_size($entry, 3) }),
	qr/^$entry is 3 bytes long, too short for a jump of \d+$/,
	'truncated', function => $entry);

my $hidden = 'update_spins_per_delay';
is_refused(
	outcome_of_copy(sub { $_[0]->hide($hidden) }),
	qr/^the server does not export $hidden$/,
	'not exported', function => $hidden);
is_refused(
	outcome_of_copy(sub { $_[0]->hide($hidden) }, LD_PRELOAD => build_library('foreign_symbol')),
	qr/^$hidden is not in the server's executable: another library, .*foreign_symbol.so, defines it$/,
	'defined elsewhere',
	function => $hidden);

#
# Somebody else who uses the private state of the locks: a function is made to
# read what LWLockHeldByMe reads.
#
SKIP:
{
	my $code = $original->code_of('LWLockHeldByMe');

	# movslq, mov, lea or cmp with a rip-relative operand
	skip 'LWLockHeldByMe reads its variable in another way', 2
	  unless $code =~ /[\x63\x8b\x8d\x39\x3b]([\x05\x0d\x15\x1d\x25\x2d\x35\x3d])(....)/s;
	my $target      = $original->function('LWLockHeldByMe')->{address} + $+[0] + unpack('l<', $2);
	my $instruction = "\x8b\x05";
	$instruction .= pack('l<', $target - ($original->function($never_called)->{address} + 6));
	is_refused(
		outcome_of_copy(sub { $_[0]->set_code($never_called, "$instruction\xc3") }),
		qr/^the server's (?:num_)?held_lwlocks is also used at offset 0x[0-9a-f]+ of its text, outside of the functions that lwtune replaces$/,
		'not closed');

	# The same distance behind a byte that looks like a ModRM byte, but is how
	# far a jump goes.
	my $jump = "\xeb\x05" . substr($instruction, 2) . "\x90\xc3";
	is_taken_over(outcome_of_copy(sub { $_[0]->set_code($never_called, $jump) }),
		'with a jump that looks like a use of private state');
}

#
# After all of this it takes over as if nothing had been.
#
is_taken_over(outcome(), 'and in the end');

done_testing();
