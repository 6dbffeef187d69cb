# 05_promotion
#	  A streaming standby is read and promoted under load: it has every row that
#	  was committed up to where it left its primary, and goes on by itself.
#
use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib", "$FindBin::RealBin/../t/lib";

use FaultChecks;
use FaultLedger;
use FaultLoad;
use LwtuneCluster;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $seconds = option('SECONDS', 60);
my $primary = fault_node('primary');
my $standby = PostgreSQL::Test::Cluster->new('standby');
my (%counters, @problems);

$primary->start;
prepare_node($primary);
$primary->backup('base');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

#
# Both under load.
#
my $old   = start_ledger($primary, 3);
my @load  = start_load($primary, tpcb => 3, torture => 1, variable => 1);
my @reads = start_load($standby, read => 3, torture => 2);
start_flipper($_) foreach $primary, $standby;

sub look
{
	my ($until) = @_;

	while (time < $until)
	{
		push @problems, map {
			(counters_fell($_, \$counters{ $_->name }), not_in_force($_), unbalanced($_))
		} $primary, $standby;
		progress('under load');
		sleep 0.5;
	}
	return;
}

look(time + $seconds / 2);
is($standby->safe_psql('postgres', 'SELECT pg_is_in_recovery()'), 't', 'a standby reads');
cmp_ok(scalar(keys %{ rows($standby) }), '>', 100, 'it has rows');
$standby->promote;
is($standby->safe_psql('postgres', 'SELECT pg_is_in_recovery()'), 'f', 'it is promoted under load');

# The primary has others to write to meanwhile.
my $new = start_ledger($standby, 3);
start_load($standby, tpcb => 3, variable => 1);
look(time + $seconds / 2);
nothing_wrong('balances, counters and takeover of both, all the while', @problems);
cmp_ok(flips($_), '>', $seconds / 2, 'settings of the ' . $_->name . ' flipped meanwhile')
  foreach $primary, $standby;
nothing_wrong('clients end', end_clients());

foreach my $node ($primary, $standby)
{
	nothing_wrong(
		'in the end, ' . $node->name,
		not_quiet($node), locks_taken($node), not_in_force($node), unbalanced($node),
		missing_rows($node, keys %{ $node == $primary ? $old : $new }),
		counters_fell($node, \$counters{ $node->name }),
		corrupt($node, '--parent-check'), log_complaints($node, 0));
}

#
# What the promoted one took with it.  A row's own position is not before the
# end of its writer's row before: so a row was committed before the switch if
# the next one's position is.
#
my ($high, $low) = slurp_file($standby->data_dir . '/pg_wal/00000002.history') =~ m{^1\s+(\S+)/(\S+)}m;
my $switch    = hex($high) * 2**32 + hex($low);
my %there     = %{ rows($standby) };
my %had       = %{ rows($primary) };
my %committed = map { $_ => 1 } told('+', keys %$old);
my (@lost, @invented, $taken);

foreach my $writer (keys %$old)
{
	my @numbers = sort { $a <=> $b } map { /^$writer:(\d+)$/ ? $1 : () } keys %had;

	foreach my $i (0 .. $#numbers - 1)
	{
		my ($row, $next) = map { "$writer:$_" } @numbers[ $i, $i + 1 ];
		if ($had{$next} <= $switch)
		{
			$taken++;
			push @lost, $row if $committed{$row} && !exists $there{$row};
		}
		push @invented, $row if $had{$row} >= $switch && exists $there{$row};
	}
}
is_deeply(\@lost,     [], 'every row committed before the switch is on the promoted one');
is_deeply(\@invented, [], 'none that was begun after it is');
cmp_ok($taken, '>', 100, 'there were some');
cmp_ok(scalar(keys %had) - $taken, '>', 100, 'the primary went on by itself');

nothing_wrong($_->name . ' stops', did_not_end($_)) foreach $standby, $primary;
note sprintf('figures: %d rows taken along, %d later ones on the primary, %d on the promoted one',
	$taken, scalar(keys %had) - $taken, scalar(keys %there) - $taken);
done_testing();
