# LwtuneCluster
#	  Servers that can load the lwtune that was built, and what tests ask them.
#
# LWTUNE_STAGE is the folder that "make install DESTDIR=" went to.
#
package LwtuneCluster;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

our @EXPORT = qw(
  new_node
  stage_conf
  set_conf
  log_from
  log_since
  states
  is_in_force
  publish
  wait_for
  elapsed_until
  postmaster_pid
  start_by_hand
  stop_by_hand
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
	my $node = PostgreSQL::Test::Cluster->new($name, %{ $options{new} // {} });
	my $preload = $options{preload} // 'lwtune';

	$node->init(
		extra => [ '--no-locale', '-E', 'UTF8' ],
		%{ $options{init} // {} });
	$node->append_conf('postgresql.conf', stage_conf());
	$node->append_conf('postgresql.conf',
		"shared_preload_libraries = '$preload'\n");
	# otherwise it comes in between just when something is counted
	$node->append_conf('postgresql.conf', "autovacuum = off\n");
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

# "redirected=19", as lwtune_status has it.
sub states
{
	my ($node) = @_;
	return $node->safe_psql('postgres',
		"SELECT string_agg(state || '=' || n, ' ' ORDER BY state)
		   FROM (SELECT state, count(*) AS n FROM lwtune_status GROUP BY 1) AS s"
	);
}

sub is_in_force
{
	my ($node, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return is(states($node), 'redirected=19', $name);
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

	$seconds //= $PostgreSQL::Test::Utils::timeout_default;
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

# Set per-tranche settings and wait until they are published: setting => value.
sub publish
{
	my ($node, %settings) = @_;

	foreach my $name (sort keys %settings)
	{
		$node->safe_psql('postgres',
			defined $settings{$name}
			? "ALTER SYSTEM SET lwtune.$name = \$x\$$settings{$name}\$x\$" =~
			  s/\$x\$(.*)\$x\$/"'" . ($1 =~ s{'}{''}gr) . "'"/er
			: "ALTER SYSTEM RESET lwtune.$name");
	}
	# the worker is one process, and does one reload after the other
	my $from = log_from($node);
	$node->safe_psql('postgres', 'SELECT pg_reload_conf()');
	return;
}

sub postmaster_pid
{
	my ($node) = @_;
	my ($pid) = slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	return $pid;
}

# Start with options that Cluster.pm does not know.  True if it did.
sub start_by_hand
{
	my ($node, @options) = @_;

	$by_hand{ $node->data_dir } = 1;
	return system_log('pg_ctl', '-w', '-D', $node->data_dir, '-l',
		$node->logfile, (map { ('-o', $_) } @options), 'start') == 0;
}

sub stop_by_hand
{
	my ($node, $mode) = @_;

	delete $by_hand{ $node->data_dir };
	return system_log('pg_ctl', '-w', '-D', $node->data_dir, '-m',
		$mode // 'fast', 'stop') == 0;
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
