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
		my %round;

		$plan{before}->($i, $plan{rounds}) if $plan{before};
		for my $arm (shuffle @{ $plan{arms} })
		{
			$round{$arm} = $plan{slice}->($arm, $i);
			die "no work was done in a slice of $arm\n" if $round{$arm} <= 0;
		}
		push @rounds, \%round;
		last if $plan{half_width} && $i >= $plan{at_least} && narrow(\@rounds, \%plan);
	}
	return \@rounds;
}

sub narrow
{
	my ($rounds, $plan) = @_;

	for my $arm (@{ $plan->{watch} })
	{
		my $result = Ratio::compare($rounds, $arm, $plan->{arms}[0]);

		return 0 if log($result->{high} / $result->{low}) / 2 > $plan->{half_width};
	}
	return 1;
}

1;
