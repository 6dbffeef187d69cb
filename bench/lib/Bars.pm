# Bars.pm - what each figure has to reach.

package Bars;

use strict;
use warnings;

# The first that fits a row counts.  Figures without a bar are for information.
my @bars = (
	{ measurement => 'pair', arm => 'counts', at_most => 1.02 },
	{ measurement => 'loops', arm => 'auto', against => 'best fixed', at_least => 0.93 },
	{ measurement => 'loops', arm => 'auto', cell => qr/, 1 client$/, at_least => 0.98 },
	{ measurement => 'loops', arm => 'auto', cell => qr{^20/1000,}, at_least => 0.98 },
	{ measurement => 'loops', arm => 'auto', cell => qr{^20/100,}, at_least => 1.35 },
	{ measurement => 'loops', arm => 'auto', cell => qr{^200/400,}, at_least => 1.6 },
	{ measurement => 'pgbench', arm => 'lwtune', at_least => 0.99 });

# Adds bar and verdict to a row that has a bar.  The estimate is judged, and
# "unsure" tells that the interval lies on both sides of the bar.
sub judge
{
	my ($row) = @_;

	for my $bar (@bars)
	{
		next if $bar->{measurement} ne $row->{measurement} || $bar->{arm} ne $row->{arm};
		next if ($bar->{against} // 'stock') ne $row->{against};
		next if $bar->{cell} && $row->{cell} !~ $bar->{cell};

		my ($figure, $most, $least) = ($row->{figure}, @$bar{qw(at_most at_least)});
		my $limit = $most // $least;

		$row->{limit} = $limit;
		$row->{bar} = defined $most ? "<= $most" : ">= $least";
		$row->{verdict} =
		  (defined $most ? $figure->{ratio} <= $most : $figure->{ratio} >= $least) ? 'pass' : 'miss';
		$row->{unsure} = 1
		  if !defined $figure->{low} || ($figure->{low} < $limit && $limit < $figure->{high});
		return;
	}
}

1;
