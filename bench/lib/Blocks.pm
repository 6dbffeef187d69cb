# Blocks.pm - run the arms of a measurement in randomised blocks.

package Blocks;

use strict;
use warnings;

use List::Util qw(shuffle);
use Ratio;

# run(arms => [...], slice => sub ($arm, $round) { value },
#     rounds => N [, at_least => M, half_width => H, watch => [...]]
#     [, before => sub ($round, $rounds)])
#
# Every round measures each arm once, in an order of its own.  With half_width,
# the rounds end early, but not before at_least, once the watched arms'
# intervals against the first arm are that narrow.  The width, unlike the ratio,
# is no reason to stop that favours an outcome.
sub run
{
	my %plan = @_;
	my @rounds;

	for my $i (1 .. $plan{rounds})
	{
		$plan{before}->($i, $plan{rounds}) if $plan{before};
		push @rounds, one_round($plan{arms}, sub { $plan{slice}->($_[0], $i) });
		last if narrow(\@rounds, \%plan);
	}
	return \@rounds;
}

# one_round(arms, slice): { arm => value }
sub one_round
{
	my ($arms, $slice) = @_;
	my %round;

	for my $arm (shuffle @$arms)
	{
		$round{$arm} = $slice->($arm);
		die "no work was done in a slice of $arm\n" if $round{$arm} <= 0;
	}
	return \%round;
}

# Enough rounds, by the part of a plan that says so?
sub narrow
{
	my ($rounds, $plan) = @_;

	return 0 if !$plan->{half_width} || @$rounds < $plan->{at_least};
	for my $arm (@{ $plan->{watch} })
	{
		my $result = Ratio::compare($rounds, $arm, $plan->{arms}[0]);

		return 0 if log($result->{high} / $result->{low}) / 2 > $plan->{half_width};
	}
	return 1;
}

1;
