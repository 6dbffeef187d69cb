# FaultLoad
#	  A server with every setting on, and clients that go on whatever happens.
#
package FaultLoad;

use strict;
use warnings;

use Exporter 'import';
use FaultSettings;
use File::Basename;
use IPC::Run;
use LwtuneCluster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep time);

our @EXPORT = qw(
  option
  progress
  fault_node
  prepare_node
  start_flipper
  flips
  start_load
  spawn
  end_clients
  pause
);

my $folder = dirname(__FILE__) . '/..';
my $scale  = 2;

# process id => what it is; all of them are ours
my %clients;
my $started = time;
my $spoke   = 0;

# How many, how long: test/faults passes its options by the environment.
sub option
{
	my ($name, $default) = @_;
	return $ENV{"LWT_FAULT_$name"} // $default;
}

# What runs by itself is repeatable by this number as far as chance here goes.
my $seed = option('SEED', int(time * 1000) % 1_000_000);
srand($seed);
note "LWT_FAULT_SEED=$seed";

# A line for who watches, not more often than every ten seconds.
sub progress
{
	my ($what) = @_;

	return if time < $spoke + 10;
	$spoke = time;
	# (stderr is the log's own; this goes where failures are told)
	my $out = Test::More->builder->failure_output;
	print $out sprintf("# %s: %s, %d s\n", basename($0, '.pl'), $what, time - $started);
	return;
}

# Small on purpose where that makes processes meet.
sub fault_node
{
	my ($name, %options) = @_;

	return new_node(
		$name,
		init => { allows_streaming => 1 },
		%options,
		conf => "restart_after_crash = on\nlog_statement = none\nlog_replication_commands = off\n"
		  . "autovacuum = on\nautovacuum_naptime = 1s\nmax_connections = 60\nshared_buffers = 8MB\n"
		  . "max_wal_size = 64MB\nmin_wal_size = 32MB\ncheckpoint_timeout = 30s\n"
		  . (exists $options{preload} ? '' : every_setting_on())
		  . ($options{conf} // ''));
}

# Tables and extensions.  The load is nobody's superuser, so that the checks
# still get in when all places are taken.
sub prepare_node
{
	my ($node) = @_;

	# a server that is broken already has a minute to do it
	$node->psql(
		'postgres', q{
		CREATE EXTENSION lwtune;
		CREATE EXTENSION lwtune_torture;
		CREATE EXTENSION amcheck;
		CREATE ROLE loader LOGIN;
		GRANT ALL ON SCHEMA public TO loader;
		-- the position is not before the end of the writer's row before
		CREATE TABLE ledger (
			writer int,
			number bigint,
			lsn pg_lsn DEFAULT pg_current_wal_insert_lsn(),
			PRIMARY KEY (writer, number));
		ALTER TABLE ledger OWNER TO loader;
		SELECT lwtune_torture_create('fault');},
		on_error_die => 1,
		timeout      => 60);
	my $out  = '';
	my $done = eval {
		IPC::Run::run(
			[ 'pgbench', '-i', '-q', '-s', $scale, connection($node, 'loader'), 'postgres' ],
			'<', \undef, '>&', \$out,
			IPC::Run::timeout(120));
	};
	ok($done, 'pgbench has its tables') or die 'pgbench -i: ' . ($@ || $out) . "\n";
	return;
}

# Start a client, in the background and with its output in a file of its own.
# exec only, so that nothing of ours runs twice.
sub spawn
{
	my ($name, @command) = @_;
	my $log = "${PostgreSQL::Test::Utils::log_path}/" . basename($0, '.pl') . "_$name.log";
	my $pid = fork // die "could not fork: $!\n";

	if ($pid == 0)
	{
		$SIG{$_} = 'DEFAULT' foreach qw(TERM INT HUP PIPE);
		open(STDIN,  '<',  '/dev/null');
		open(STDOUT, '>>', $log);
		open(STDERR, '>>', $log);
		exec(@command) or POSIX::_exit(127);
	}
	$clients{$pid} = $name;
	return $pid;
}

sub connection
{
	my ($node, $user) = @_;
	return ('-h', $node->host, '-p', $node->port, (defined $user ? ('-U', $user) : ()));
}

# Settings of a server flip from now on.
sub start_flipper
{
	my ($node) = @_;

	return spawn('flip-' . $node->name,
		"$folder/flip", settings_file(), int(rand 1e6), 'psql', connection($node), '-d', 'postgres');
}

# How many reloads were confirmed.
sub flips
{
	my ($node) = @_;
	my $log = "${PostgreSQL::Test::Utils::log_path}/"
	  . basename($0, '.pl') . '_flip-' . $node->name . '.log';
	my $n = () = slurp_file($log) =~ /^t$/mg;
	return $n;
}

# start_load(NODE, tpcb => N, torture => N, ...): so many clients of each kind,
# one process each, which start again when they lose their session.
my %kinds = (
	tpcb     => [ '-b', 'tpcb-like' ],
	torture  => [ '-f', "$folder/sql/torture.sql" ],
	variable => [ '-f', "$folder/sql/variable.sql" ],
	read     => [ '-s', $scale, '-f', "$folder/sql/read.sql" ],
	visit    => [ '-C', '-f', "$folder/sql/visit.sql" ]);

sub start_load
{
	my ($node, %numbers) = @_;
	my @pids;

	foreach my $kind (sort keys %numbers)
	{
		push @pids,
		  spawn(
			"$kind-" . $node->name,
			"$folder/again", 'pgbench', '-n', '-T', '100000', '-M', ('simple', 'prepared')[rand 2],
			@{ $kinds{$kind} }, connection($node, 'loader'), 'postgres') foreach 1 .. $numbers{$kind};
	}
	return @pids;
}

# Tell clients to end, all of them if none is named; which of them did not.
sub end_clients
{
	my @pids     = @_ ? @_ : keys %clients;
	my $deadline = time + 30;
	my @left     = @pids;

	kill 'TERM', @pids;
	while (@left && time < $deadline)
	{
		@left = grep { waitpid($_, POSIX::WNOHANG()) == 0 } @left;
		sleep 0.02 if @left;
	}
	foreach my $pid (@left)
	{
		kill 'KILL', $pid;
		waitpid($pid, 0);
	}
	my @stuck = map { "client $clients{$_} did not end" } @left;
	delete @clients{@pids};
	return @stuck;
}

sub pause
{
	my ($seconds) = @_;
	sleep $seconds;
	return;
}

END
{
	my $status = $?;
	end_clients() if %clients;
	$? = $status;
}

1;
