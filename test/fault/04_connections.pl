# 04_connections
#	  Every place for a session is taken, more clients are refused, and they come
#	  and go as fast as they can.
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

my $seconds = option('SECONDS', 60);
my $limit   = 17;
my $node    = fault_node('connections', conf => "max_connections = $limit\n");
my ($counters, $looks, @problems) = (undef, 0);

$node->start;
prepare_node($node);

# More than there is room for: three places are the superuser's.
my $ledger = start_ledger($node, 3);
start_load($node, tpcb => 3, torture => 3, variable => 2, visit => 10);
start_flipper($node);

my $deadline = time + $seconds;
my $from     = log_from($node);

while (time < $deadline)
{
	push @problems, counters_fell($node, \$counters), unbalanced($node), not_in_force($node);
	$looks++;
	progress("$looks looks");
	sleep 1;
}
my $log      = log_since($node, $from);
my $refused  = () = $log =~ /FATAL:  (remaining connection slots are reserved|sorry, too many clients)/g;
my ($visits) = $node->safe_psql('postgres', q{SELECT sessions FROM pg_stat_database WHERE datname = 'postgres'});

nothing_wrong("$visits sessions came and went, $refused were refused", @problems);
cmp_ok($refused, '>', $seconds,     'clients were refused');
cmp_ok($visits,  '>', $seconds,     'others were not');
my $flips = flips($node);
cmp_ok($flips, '>', $seconds, 'settings flipped meanwhile');
nothing_wrong('clients end', end_clients());
nothing_wrong('in the end',
	not_quiet($node), locks_taken($node), not_in_force($node), unbalanced($node),
	missing_rows($node), counters_fell($node, \$counters), corrupt($node, '--parent-check'),
	log_complaints($node, $from));

# No place was lost: so many fit at once, the one that looks included.
my @sessions = map { start_query($node, 'SELECT pg_sleep(5), 1') } 2 .. $limit;
ok( wait_for(
		$node, qq{count(*) = $limit FROM pg_stat_activity WHERE backend_type = 'client backend'}),
	"$limit sessions fit");
push @sessions, start_query($node, 'SELECT pg_sleep(5), 1');
sleep 1;
my ($answer, $failure) = ask($node, 'SELECT 1');
like($failure // $answer, qr/too many clients/, 'and no more');
is(join('', map { scalar finish_query($_) } @sessions), '|1' x $limit, 'each gets its answer');

nothing_wrong('it stops', did_not_end($node));
note sprintf('figures: %d sessions, %d refused; %d rows committed, %d flips',
	$visits, $refused, told_count('+'), $flips);
done_testing();
