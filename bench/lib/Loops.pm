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
my $warm_up_seconds = 1;

# for auto; one that tells 0.98 from 1
my $half_width = 0.02;

sub measure
{
	my ($bench) = @_;
	my $plan = $bench->{plan}{loops};
	my $arms = Arms->new($bench,
		map { $_ => { 'lwtune.spin_time' => $_ } } @{ $plan->{fixed} }, 'auto');
	my @rows;

	Load::prepare($_) for $bench->servers;
	check_settings($bench, $arms);
	for my $shape (@shapes)
	{
		for my $clients (@client_counts)
		{
			push @rows, measure_cell($bench, $plan, $arms, $shape, $clients);
		}
	}
	return @rows;
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

sub measure_cell
{
	my ($bench, $plan, $arms, $shape, $clients) = @_;
	my $cell = sprintf '%s, %d client%s', $shape, $clients, $clients == 1 ? '' : 's';
	my @rows;

	return if !$bench->wants($cell);
	if ($arms->has('auto'))
	{
		$bench->progress("loops $cell: auto learns");
		Load::statements($arms->enter('auto'), $shape, $clients, $warm_up_seconds);
	}

	my $rounds = Blocks::run(
		arms => [ $arms->names ],
		rounds => $plan->{rounds},
		at_least => $plan->{at_least},
		half_width => $half_width,
		watch => [ ($arms->names)[-1] ],
		before => sub { $bench->progress("loops $cell: round $_[0] of at most $_[1]") },
		slice => sub {
			Load::statements($arms->enter($_[0]), $shape, $clients, $plan->{seconds});
		});

	for my $arm (grep { $_ ne 'stock' } $arms->names)
	{
		push @rows, Report::row(
			measurement => 'loops',
			cell => $cell,
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
			cell => $cell,
			arm => 'auto',
			against => 'best fixed',
			what => 'rate',
			figure => $figure,
			note => "best is $figure->{best}",
			raw => $rounds);
	}
	$bench->say_row($_) for grep { $_->{arm} =~ /^(auto|again)$/ } @rows;
	return @rows;
}

1;
