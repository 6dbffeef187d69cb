# LwtuneCluster
#	  Servers that can load the lwtune that was built, and what tests ask them.
#
# LWTUNE_STAGE is the folder that "make install DESTDIR=" went to.
#
package LwtuneCluster;

use strict;
use warnings;

use Exporter 'import';
use File::Basename;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(
  new_node
  stage_conf
  set_conf
  log_from
  log_since
  ntargets
  states
  is_in_force
  set_live
  wait_for
  elapsed_until
  postmaster_pid
  server_processes
  worker_pid
  start_by_hand
  stop_by_hand
  start_query
  finish_query
  together
);

my $stage = $ENV{LWTUNE_STAGE}
  or BAIL_OUT('LWTUNE_STAGE must name the folder that lwtune was installed to');

# Servers that a test started without Cluster.pm knowing.
my %by_hand;

sub stage_conf
{
	chomp(my $pkglibdir = `pg_config --pkglibdir`);
	return "extension_destdir = '$stage'\n"
	  . "dynamic_library_path = '$stage$pkglibdir:\$libdir'\n";
}

# new_node(NAME, preload => LIBRARIES, conf => TEXT, init => {...}, new => {...})
# Not started yet.
sub new_node
{
	my ($name, %options) = @_;
	my $node    = PostgreSQL::Test::Cluster->new($name, %{ $options{new} // {} });
	my $preload = $options{preload} // 'lwtune';

	$node->init(
		extra => [ '--no-locale', '-E', 'UTF8' ],
		%{ $options{init} // {} });
	$node->append_conf('postgresql.conf', stage_conf());
	$node->append_conf('postgresql.conf', "shared_preload_libraries = '$preload'\n");
	# the one comes in between just when something is counted, the other takes
	# longer than all queries that ask something
	$node->append_conf('postgresql.conf', "autovacuum = off\njit = off\n");
	$node->append_conf('postgresql.conf', $options{conf})
	  if defined $options{conf};
	return $node;
}

# The last line of a setting in the file wins.
sub set_conf
{
	my ($node, %settings) = @_;

	foreach my $name (sort keys %settings)
	{
		(my $value = $settings{$name}) =~ s/'/''/g;
		$node->append_conf('postgresql.conf', "$name = '$value'\n");
	}
	return;
}

# Remember where the log ends; get what was written to it since.
sub log_from
{
	my ($node) = @_;
	return -s $node->logfile // 0;
}

sub log_since
{
	my ($node, $from) = @_;
	return slurp_file($node->logfile, $from);
}

# How many functions of the server lwtune replaces.
sub ntargets
{
	my ($major) = `pg_config --version` =~ /(\d+)/;
	my $list = slurp_file(dirname(__FILE__) . "/../../../src/targets_pg$major.h");

	return scalar(() = $list =~ /^TARGET\(/mg);
}

# "redirected=" and how many, as lwtune_status has it.
sub states
{
	my ($node) = @_;
	return $node->safe_psql(
		'postgres',
		"SELECT string_agg(state || '=' || n, ' ' ORDER BY state)
		   FROM (SELECT state, count(*) AS n FROM lwtune_status GROUP BY 1) AS s"
	);
}

sub is_in_force
{
	my ($node, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(states($node), 'redirected=' . ntargets(), $name);
}

# Wait until a question is answered with t, asking in one connection.  True if
# it was in time.
sub wait_for
{
	my ($node, $condition, $seconds) = @_;
	return defined elapsed_until($node, '', $condition, $seconds);
}

# Do something, and measure in the server how long it takes until a question
# is answered with yes: milliseconds, or undef if it never was.  Both in one
# statement, so that no client and no connection is in between.
sub elapsed_until
{
	my ($node, $action, $condition, $seconds) = @_;

	$seconds //= 30;
	my $ms = $node->safe_psql(
		'postgres', qq{
		SET client_min_messages = warning;
		CREATE TEMP TABLE answer (ms float8);
		DO \$do\$
		DECLARE
			start timestamptz := clock_timestamp();
			answer boolean;
		BEGIN
			$action
			LOOP
				-- or pg_stat_activity stays what it was at the first look
				PERFORM pg_stat_clear_snapshot();
				EXECUTE \$q\$SELECT $condition\$q\$ INTO answer;
				IF answer THEN
					INSERT INTO answer SELECT 1000 * extract(epoch FROM clock_timestamp() - start);
				END IF;
				EXIT WHEN answer OR clock_timestamp() > start + interval '$seconds s';
				PERFORM pg_sleep(0.002);
			END LOOP;
		END \$do\$;
		SELECT ms FROM answer;});
	return $ms eq '' ? undef : $ms;
}

# Change settings (without their prefix; undef is back to the default) of a
# running server.  It is not waited for.
sub set_live
{
	my ($node, %settings) = @_;

	foreach my $name (sort keys %settings)
	{
		$node->safe_psql('postgres',
			defined $settings{$name}
			? "ALTER SYSTEM SET lwtune.$name = \$x\$$settings{$name}\$x\$"
			: "ALTER SYSTEM RESET lwtune.$name");
	}
	$node->safe_psql('postgres', 'SELECT pg_reload_conf()');
	return;
}

sub postmaster_pid
{
	my ($node) = @_;
	my ($pid)  = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	return $pid;
}

# Its processes: pid => title.
sub server_processes
{
	my ($node)     = @_;
	my $postmaster = postmaster_pid($node);
	my %titles     = ($postmaster => 'postmaster');

	foreach my $process (glob('/proc/[0-9]*'))
	{
		open(my $stat, '<', "$process/stat") or next;
		next unless (<$stat> // '') =~ /^(\d+) .*\) \S (\d+)/ && $2 == $postmaster;
		my $pid = $1;
		open(my $title, '<', "$process/cmdline") or next;
		$titles{$pid} = (<$title> // '') =~ tr/\0/ /r;
	}
	return %titles;
}

sub worker_pid
{
	my ($node) = @_;
	my %titles = server_processes($node);
	my ($pid)  = grep { $titles{$_} =~ /lwtune worker/ } keys %titles;

	return $pid;
}

# Start with options of the server that Cluster.pm does not know, or another
# executable.  True if it did.
sub start_by_hand
{
	my ($node, $options, $executable) = @_;

	$by_hand{ $node->data_dir } = 1;
	return system_log(
		'pg_ctl', '-w', '-D', $node->data_dir, '-l', $node->logfile,
		(defined $options ? ('-o', $options) : ()),
		(defined $executable ? ('-p', $executable) : ()), 'start') == 0;
}

sub stop_by_hand
{
	my ($node, $mode) = @_;

	delete $by_hand{ $node->data_dir };
	return system_log('pg_ctl', '-w', '-D', $node->data_dir, '-m', $mode // 'fast', 'stop') == 0;
}

# A query in a session of its own, in the background.  finish_query() waits for
# its end and gives what it printed; its errors are in the second value.
sub start_query
{
	my ($node, $query) = @_;
	my %session = (out => '', err => '');

	$session{run} = IPC::Run::start(
		[
			'psql', '-XAtq',                    '-v', 'ON_ERROR_STOP=1',
			'-d',   $node->connstr('postgres'), '-c', $query
		],
		'<',
		\undef,
		'>',
		\$session{out},
		'2>',
		\$session{err},
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return \%session;
}

sub finish_query
{
	my ($session) = @_;

	IPC::Run::finish($session->{run});
	chomp(@{$session}{qw(out err)});
	return wantarray ? @{$session}{qw(out err)} : $session->{out};
}

# Several at once: the results in order; an error makes the test die.
sub together
{
	my ($node, @queries) = @_;
	my @sessions = map { start_query($node, $_) } @queries;

	return map {
		my ($out, $err) = finish_query($_);
		die "a query failed: $err\n" if $err =~ /ERROR|FATAL|server closed/;
		$out
	} @sessions;
}

END
{
	my $status = $?;
	foreach my $data (keys %by_hand)
	{
		system('pg_ctl', '-w', '-D', $data, '-m', 'immediate', 'stop')
		  if -e "$data/postmaster.pid";
	}
	$? = $status;
}

1;
