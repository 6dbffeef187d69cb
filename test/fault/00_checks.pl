# 00_checks
#	  Each check of what must be true after a fault notices when it is not, or
#	  all that comes after is worth nothing.
#
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib", "$FindBin::RealBin/../t/lib";

use FaultChecks;
use FaultLedger;
use FaultLoad;
use LwtuneCluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $node = fault_node('checks');
my $counters;

$node->start;
prepare_node($node);
my $ledger = start_ledger($node, 1);
my @load   = start_load($node, tpcb => 1);
sleep 1;
nothing_wrong('the clients end', end_clients());

sub everything
{
	return (
		not_in_force($node), unbalanced($node), corrupt($node), counters_fell($node, \$counters),
		not_quiet($node, 5), locks_taken($node), missing_rows($node));
}

# What is broken on purpose, then mended.
sub notices
{
	my ($pattern, $problems, $name) = @_;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return like(join("\n", @$problems), $pattern, "noticed: $name");
}

sub sql
{
	return $node->safe_psql('postgres', join(';', @_));
}

nothing_wrong('at first', everything());

foreach my $outcome ('+', '-')
{
	my ($row) = sort(told($outcome));
	my ($writer, $number) = split /:/, $row;
	sql($outcome eq '+'
		? "DELETE FROM ledger WHERE number = $number"
		: "INSERT INTO ledger VALUES ($writer, $number)");
	notices(
		$outcome eq '+' ? qr/1 committed rows are missing, as $row/ : qr/1 rows are there that were refused, as $row/,
		[ missing_rows($node) ],
		$outcome eq '+' ? 'a committed row is gone' : 'a refused one is there');
	sql($outcome eq '+'
		? "INSERT INTO ledger VALUES ($writer, $number)"
		: "DELETE FROM ledger WHERE number = $number");
}

sql('UPDATE pgbench_tellers SET tbalance = tbalance + 1 WHERE tid = 7');
notices(qr/balances differ/, [ unbalanced($node) ], 'a balance');
sql('UPDATE pgbench_tellers SET tbalance = tbalance - 1 WHERE tid = 7');

sql('CREATE TABLE indexed AS SELECT generate_series(1, 100) AS a', 'CREATE INDEX ON indexed (a)');
sql(q{UPDATE pg_index SET indisready = false WHERE indexrelid = 'indexed_a_idx'::regclass});
sql('INSERT INTO indexed VALUES (101)');
sql(q{UPDATE pg_index SET indisready = true WHERE indexrelid = 'indexed_a_idx'::regclass});
notices(qr/indexed_a_idx.*lacks matching index tuple/s, [ corrupt($node) ], 'an index');
sql('DROP TABLE indexed');

counters_fell($node, \$counters);
sql("SELECT lwtune_reset('WALWrite')");
notices(qr/WALWrite/, [ counters_fell($node, \$counters) ], 'counters that start anew');

my $session = start_query($node, "SELECT lwtune_torture_hold('fault', 'exclusive', 120000, 3)");
wait_for($node, q{count(*) = 1 FROM pg_stat_activity WHERE query ~ '^SELECT lwtune_torture_hold'});
my $waiter = start_query($node, "SELECT lwtune_torture_acquires('fault', 'exclusive', 1, 3)");
wait_for($node, q{count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'fault'});
notices(qr/LWLock fault/, [ not_quiet($node, 0.1) ], 'somebody who waits');
sql(q{SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query ~ '^SELECT lwtune_torture_hold'});
finish_query($_) foreach $session, $waiter;

my $pid = spawn('stubborn', 'perl', '-e', '$SIG{TERM} = "IGNORE"; $| = 1; print "deaf\n"; sleep 100');
sleep 0.5;
notices(qr/client stubborn did not end/, [ end_clients($pid) ], 'a client that does not end');

my $from = log_from($node);
# it takes two at the same time, also where processors are scarce
foreach (1 .. 10)
{
	finish_query($_)
	  foreach map { start_query($node, q{SELECT lwtune_torture_verify('fault', 300000, 1, true)}) } 1 .. 4;
	last if log_complaints($node, $from);
}
notices(qr/failed verification/, [ log_complaints($node, $from) ], 'a lock that does not exclude');

nothing_wrong('at last, all being mended', everything());
nothing_wrong('it stops', did_not_end($node));

$node->append_conf('postgresql.conf', "lwtune.enable = off\n");
$node->start;
notices(qr/not in force/, [ not_in_force($node) ], 'a server with its own locks');
$node->stop;
done_testing();
