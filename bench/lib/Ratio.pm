# Ratio.pm - from interleaved slices to a ratio with its interval.
#
# On a shared machine the speed of everything drifts by tens of percent within
# minutes, so the figure of one slice means nothing.  What is compared are the
# slices of one round, taken one after the other in random order: the drift is
# common to them and cancels in their ratio.  A slice in which the machine was
# somebody else's, at half of its speed, does not cancel: so of the logarithms of
# the rounds' ratios (with which a/b and b/a agree) a fifth at either end is left
# out of the mean, and the 95 % interval is that for trimmed means, from the
# winsorized variance (Tukey and McLaughlin, "Less vulnerable confidence and
# significance procedures for location based on a single sample", Sankhya A 25,
# 1963).  Fewer than five rounds are all kept, and it is Student's.
#
# A round is a hash: arm => value.

package Ratio;

use strict;
use warnings;

use List::Util qw(sum0);

# 97.5 % quantiles of Student's t for 1 to 30 degrees of freedom
my @t975 = (
	12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060,
	2.2622, 2.2281, 2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199,
	2.1098, 2.1009, 2.0930, 2.0860, 2.0796, 2.0739, 2.0687, 2.0639,
	2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423);

sub t_quantile
{
	my ($df) = @_;
	my $z = 1.959964;

	return $t975[ $df - 1 ] if $df <= @t975;
	return $z + ($z**3 + $z) / (4 * $df) +
	  (5 * $z**5 + 16 * $z**3 + 3 * $z) / (96 * $df**2);
}

sub mean
{
	return sum0(@_) / @_;
}

sub median
{
	my @sorted = sort { $a <=> $b } @_;
	my $middle = int(@sorted / 2);

	return $sorted[$middle] if @sorted % 2;
	return ($sorted[ $middle - 1 ] + $sorted[$middle]) / 2;
}

# Ratios in, one figure out.  One ratio alone has no interval.
sub summary
{
	my @logs = sort { $a <=> $b } map { log $_ } @_;
	my $cut = int(@logs / 5);
	my @kept = @logs[ $cut .. $#logs - $cut ];
	my $mean = mean(@kept);
	my %result = (n => scalar @logs, ratio => exp $mean, median => exp median(@logs));

	if (@kept > 1)
	{
		my @winsorized = (($kept[0]) x $cut, @kept, ($kept[-1]) x $cut);
		my $centre = mean(@winsorized);
		my $squares = sum0(map { ($_ - $centre)**2 } @winsorized);
		my $half = t_quantile(@kept - 1) * sqrt($squares / (@kept * (@kept - 1)));

		$result{low} = exp($mean - $half);
		$result{high} = exp($mean + $half);
	}
	return \%result;
}

sub ratios
{
	my ($rounds, $arm, $reference) = @_;

	return map { $_->{$arm} / $_->{$reference} } @$rounds;
}

sub compare
{
	my ($rounds, $arm, $reference) = @_;

	return summary(ratios($rounds, $arm, $reference));
}

# Rounds in groups that share an accident, such as the addresses of one server
# start: the group is the unit, so that the interval covers the accident too.
sub compare_grouped
{
	my ($groups, $arm, $reference) = @_;

	return summary(map { compare($_, $arm, $reference)->{ratio} } @$groups);
}

# An arm against the best of some others.  The best of several noisy figures
# looks better than it is, so in each round it is chosen by the other rounds.
sub compare_best
{
	my ($rounds, $arm, $others) = @_;
	my @ratios;

	for my $i (0 .. $#$rounds)
	{
		my @rest = @$rounds;

		splice(@rest, $i, 1) if @rest > 1;
		push @ratios,
		  $rounds->[$i]{$arm} / $rounds->[$i]{ best_arm(\@rest, $arm, $others) };
	}
	my $result = summary(@ratios);

	$result->{best} = best_arm($rounds, $arm, $others);
	return $result;
}

sub best_arm
{
	my ($rounds, $reference, $arms) = @_;
	my %score = map { $_ => compare($rounds, $_, $reference)->{ratio} } @$arms;

	return (sort { $score{$b} <=> $score{$a} || $a cmp $b } @$arms)[0];
}

# The method on data whose truth is known: drifting by 40 %, noisy, and one slice
# in fifty at half speed.  Returns what is wrong, nothing if all is well.
sub self_check
{
	my @wrong;
	my %truth = (reference => 100, better => 150, same => 100, near => 148);
	my $covered = 0;
	my $best_sum = 0;
	my $trials = 1000;

	srand(20);
	for my $trial (1 .. $trials)
	{
		my @rounds;

		for my $i (0 .. 7)
		{
			my %round;

			for my $arm (keys %truth)
			{
				my $drift = 1 + 0.4 * sin($trial + $i / 3);
				$round{$arm} = $truth{$arm} * $drift * exp(0.03 * gauss());
				$round{$arm} /= 2 if rand() < 0.02;
			}
			push @rounds, \%round;
		}
		my $result = compare(\@rounds, 'better', 'reference');

		$covered++ if $result->{low} <= 1.5 && 1.5 <= $result->{high};
		$best_sum += log compare_best(\@rounds, 'better',
			[ 'near', 'same', 'reference' ])->{ratio};
	}
	srand;

	# 95 % plus or minus three standard errors
	push @wrong, sprintf('intervals cover the truth in %.1f %% of trials', 100 * $covered / $trials)
	  if abs($covered / $trials - 0.95) > 0.021;
	push @wrong, sprintf('against the best: %.4f instead of %.4f', exp($best_sum / $trials), 150 / 148)
	  if abs($best_sum / $trials - log(150 / 148)) > 0.003;
	push @wrong, 'quantiles do not join at 30 and 31 degrees of freedom'
	  if abs(t_quantile(31) - 2.0395) > 0.0005;
	push @wrong, 'median' if median(3, 1, 2) != 2 || median(4, 1, 2, 3) != 2.5;

	my $two = summary(2, 8);
	push @wrong, 'geometric mean' if abs($two->{ratio} - 4) > 1e-9;
	push @wrong, 'interval of two'
	  if abs(log($two->{high} / 4) - 12.7062 * log(2)) > 1e-6;
	return @wrong;
}

# a normal deviate, near enough
sub gauss
{
	return sum0(map { rand } 1 .. 12) - 6;
}

1;
