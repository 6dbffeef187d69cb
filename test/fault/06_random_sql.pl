# 06_random_sql
#	  Random SQL, on a server with every setting on and on one without lwtune: it
#	  crashes nothing that it does not crash there.
#
# Debian's sqlsmith makes it.  Both servers get the same seeds.  When the one with
# lwtune crashes, the query that did it is run on the other one, which must crash
# alike.
#
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib", "$FindBin::RealBin/../t/lib";

use FaultChecks;
use FaultLoad;
use LwtuneCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $seconds = option('SQL_SECONDS', 600);
my $clients = 2;

plan skip_all => 'sqlsmith is not installed' if system('command -v sqlsmith >/dev/null') != 0;

my $stock = fault_node('stock', preload => '');
my $tuned = fault_node('tuned');
my %pids;

foreach my $node ($stock, $tuned)
{
	# what parallel workers there may be, there are
	$node->append_conf('postgresql.conf', "min_parallel_table_scan_size = 0\nparallel_setup_cost = 10\n"
		  . "log_min_messages = log\nlog_min_error_statement = panic\n");
	$node->start;
	# the same objects, whether their library is preloaded or not
	prepare_node($node);
	$node->safe_psql('postgres', slurp_file("$FindBin::RealBin/sql/random_sql.sql"));
	# a column each, for whoever calls it
	$node->safe_psql('postgres', 'GRANT EXECUTE ON FUNCTION lwtune_reset(text) TO loader');
	$pids{ $node->name } = postmaster_pid($node);
}
start_flipper($tuned);
start_load($tuned, torture => 1, variable => 1);

# One for each seed, again if it ends.
my $first = int(rand 1e6);
foreach my $node ($stock, $tuned)
{
	foreach my $seed ($first .. $first + $clients - 1)
	{
		spawn(
			'sqlsmith-' . $node->name . "-$seed",
			"$FindBin::RealBin/again", 'sqlsmith', '--verbose', '--exclude-catalog', "--seed=$seed",
			'--target=' . $node->connstr('postgres') . ' user=loader');
	}
}

# What the server logs of each crash: which signal, doing what.
sub crashes
{
	my ($node) = @_;
	my $died   = qr/\(PID \d+\) was terminated by signal (\d+)[^\n]*\n/;
	my $doing  = qr/[^\n]*DETAIL:  Failed process was running: ([^\n]*(?:\n\t[^\n]*)*)/;

	my @found = log_since($node, 0) =~ /$died(?:$doing)?/g;
	return map { [ @found[ 2 * $_, 2 * $_ + 1 ] ] } 0 .. @found / 2 - 1;
}

# Those that do not come when stock runs the same.
sub crashes_only_here
{
	my (@crashes) = @_;
	my @only;

	foreach my $crash (@crashes)
	{
		my ($signal, $query) = @$crash;
		my $from = log_from($stock);
		ask($stock, "SET ROLE loader; $query") if defined $query;
		my $alike = log_since($stock, $from) =~ /terminated by signal $signal\b/;
		not_up($stock, $from) if $alike;
		push @only, "signal $signal: " . ($query // 'nobody knows what') unless $alike;
	}
	return @only;
}

my $deadline = time + $seconds;
while (time < $deadline)
{
	progress(sprintf('random SQL, %d s to go', $deadline - time));
	sleep 1;
}
nothing_wrong('clients end', end_clients());

# Each query is a letter: a dot, or which kind of error it was.
my %queries;
foreach my $node ($stock, $tuned)
{
	my $name = $node->name;
	foreach my $log (glob("${PostgreSQL::Test::Utils::log_path}/06_random_sql_sqlsmith-$name-*.log"))
	{
		$queries{$name} += length($_) foreach slurp_file($log) =~ /^([.etSC]+)$/mg;
	}
	cmp_ok($queries{$name} // 0, '>', 2 * $seconds, "$name: random queries ran");
	is(postmaster_pid($node), $pids{$name}, "$name: the postmaster is the same");
}

my @crashes = crashes($tuned);
nothing_wrong('no crash that stock does not have, of ' . @crashes, crashes_only_here(@crashes));
nothing_wrong('no panic, no failed assertion, nobody stuck',
	grep { !/terminated by signal/ } log_complaints($tuned, 0));
nothing_wrong('in the end',
	not_quiet($tuned), locks_taken($tuned), not_in_force($tuned), corrupt($tuned, '--parent-check'));
my @of_stock = crashes($stock);

# One that stock does not have would be noticed.
my $from    = log_from($tuned);
my $session = start_query($tuned, 'SELECT pg_sleep(2)');
wait_for($tuned, q{count(*) = 1 FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(2)'});
kill 'SEGV', $tuned->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(2)'});
finish_query($session);
nothing_wrong('a crash on purpose', not_up($tuned, $from));
is((crashes_only_here((crashes($tuned))[-1]))[0], 'signal 11: SELECT pg_sleep(2)', 'is noticed');

nothing_wrong($_->name . ' stops', did_not_end($_)) foreach $stock, $tuned;
note sprintf('figures: %d random queries with lwtune, %d without; %d crashes and %d',
	$queries{tuned}, $queries{stock}, scalar(@crashes), scalar(@of_stock));
done_testing();
