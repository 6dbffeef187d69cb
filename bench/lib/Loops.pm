# Loops.pm - measurement "loops": several processes in a loop on one lock.

package Loops;

use strict;
use warnings;

use Arms;
use Blocks;
use Load;
use Ratio;
use Report;

my @shapes = ('20/100', '200/400', '20/1000');
my @client_counts = (1, 2, 4, 8);

# for auto; one that tells 0.98 from 1
my $half_width = 0.02;

sub measure
{
	my ($bench) = @_;
	my $plan = $bench->{plan}{loops};
	my $arms = Arms->new($bench,
		map { $_ => { 'lwtune.spin_time' => $_ } } @{ $plan->{fixed} }, 'auto');
	my @cells = grep { $bench->wants($_->{name}) } cells();

	for my $round (1 .. $plan->{rounds})
	{
		my @open = grep { !Blocks::narrow($_->{rounds}, enough($plan, $arms)) } @cells;

		last if !@open;
		$bench->progress("loops: round $round of at most $plan->{rounds}");
		fresh_start($bench, $arms);
		measure_once($bench, $plan, $arms, $_) for @open;
	}
	return map { rows($bench, $plan, $arms, $_) } @cells;
}

sub cells
{
	my @cells;

	for my $shape (@shapes)
	{
		push @cells, map {
			{
				name => sprintf('%s, %d client%s', $shape, $_, $_ == 1 ? '' : 's'),
				shape => $shape,
				clients => $_,
				rounds => []
			}
		} @client_counts;
	}
	return @cells;
}

sub enough
{
	my ($plan, $arms) = @_;

	return {
		arms => [ $arms->names ],
		half_width => $half_width,
		at_least => $plan->{at_least},
		watch => [ ($arms->names)[-1] ]
	};
}

# Where the lock and the processes' memory happen to lie favours one server or
# the other until it is started again, by a quarter and more: two stock servers
# differ as much.  So each round has a start of its own.
sub fresh_start
{
	my ($bench, $arms) = @_;

	for my $server ($bench->servers)
	{
		$server->stop;
		$bench->start_server($server);
		Load::prepare($server);
	}
	check_settings($bench, $arms);
}

# Figures of settings that never took effect would look like any others.
sub check_settings
{
	my ($bench, $arms) = @_;

	return if $bench->{null};
	for my $arm (grep { $_ ne 'stock' } $arms->names)
	{
		my $value = $arms->enter($arm)->query(
			"SELECT value FROM lwtune_settings WHERE tranche = '$Load::tranche' AND setting = 'spin_time'");

		die "spin_time = $arm did not take effect, it is \"$value\"\n" if $value ne $arm;
	}
}

sub measure_once
{
	my ($bench, $plan, $arms, $cell) = @_;

	if ($arms->has('auto'))
	{
		$bench->progress("  $cell->{name}: auto learns");
		Load::statements($arms->enter('auto'), $cell->{shape}, $cell->{clients}, $plan->{learn});
	}
	push @{ $cell->{rounds} }, Blocks::one_round([ $arms->names ],
		sub { Load::statements($arms->enter($_[0]), $cell->{shape}, $cell->{clients}, $plan->{seconds}) });
}

sub rows
{
	my ($bench, $plan, $arms, $cell) = @_;
	my $rounds = $cell->{rounds};
	my @rows;

	for my $arm (grep { $_ ne 'stock' } $arms->names)
	{
		push @rows, Report::row(
			measurement => 'loops',
			cell => $cell->{name},
			arm => $arm,
			what => 'rate',
			figure => Ratio::compare($rounds, $arm, 'stock'),
			raw => $rounds);
	}
	if ($arms->has('auto'))
	{
		my $figure = Ratio::compare_best($rounds, 'auto', $plan->{fixed});

		push @rows, Report::row(
			measurement => 'loops',
			cell => $cell->{name},
			arm => 'auto',
			against => 'best fixed',
			what => 'rate',
			figure => $figure,
			note => "best is $figure->{best}",
			raw => $rounds);
	}
	$bench->progress("loops $cell->{name}");
	$bench->say_row($_) for grep { $_->{arm} =~ /^(auto|again)$/ } @rows;
	return @rows;
}

1;
