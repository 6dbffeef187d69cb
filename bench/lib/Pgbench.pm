# Pgbench.pm - measurement "pgbench": what loading lwtune does to whole
# transactions, with its default settings.

package Pgbench;

use strict;
use warnings;

use Arms;
use Blocks;
use Ratio;
use Report;

my %scripts = ('-S' => 'select-only', '-N' => 'simple-update', 'default' => 'tpcb-like');
my @client_counts = (2, 8, 32);

# one that tells 0.99 from 1
my $half_width = 0.01;

# Where memory happens to lie favours one server or the other until it is
# started again.
my $rounds_per_start = 6;

sub measure
{
	my ($bench) = @_;
	my $plan = $bench->{plan}{pgbench};
	my $arms = Arms->new($bench, lwtune => {});
	my @rows;

	for my $script ('-S', '-N', 'default')
	{
		for my $clients (@client_counts)
		{
			push @rows, measure_cell($bench, $plan, $arms, $script, $clients);
		}
	}
	return @rows;
}

sub measure_cell
{
	my ($bench, $plan, $arms, $script, $clients) = @_;
	my $cell = "$script, $clients clients";

	return if !$bench->wants($cell);

	my $rounds = Blocks::run(
		arms => [ $arms->names ],
		rounds => $plan->{rounds},
		at_least => $plan->{at_least},
		half_width => $half_width,
		watch => [ ($arms->names)[1] ],
		before => sub {
			my ($round, $at_most) = @_;

			if ($round % $rounds_per_start == 1)
			{
				fresh_start($bench, $_) for $bench->servers;
			}
			$bench->progress("pgbench $cell: round $round of at most $at_most");
		},
		slice => sub {
			my ($arm, $round) = @_;
			tps($arms->enter($arm), $scripts{$script}, $clients, $plan->{seconds}, $round);
		});

	my @names = $arms->names;
	my $row = Report::row(
		measurement => 'pgbench',
		cell => $cell,
		arm => $names[1],
		what => 'rate',
		figure => Ratio::compare($rounds, $names[1], 'stock'),
		note => scalar(@$rounds) . ' rounds',
		raw => $rounds);

	$bench->say_row($row);
	return $row;
}

# Started again, with its data in memory, its tables without dead rows and no
# checkpoint to come.
sub fresh_start
{
	my ($bench, $server) = @_;

	$bench->progress("  a fresh start of $server->{name}");
	$server->stop;
	$bench->start_server($server);
	$server->query('VACUUM');
	$server->query('CHECKPOINT');
	$server->query(
		"SELECT count(pg_prewarm(oid)) FROM pg_class WHERE relname LIKE 'pgbench%' AND relkind IN ('r', 'i')");
}

# The round is the seed: the arms of a round run the same transactions.
sub tps
{
	my ($server, $script, $clients, $seconds, $round) = @_;

	return $server->pgbench_rate('-n', '-b', $script, '-c', $clients, '-j', 2,
		'-T', $seconds, "--random-seed=$round");
}

1;
