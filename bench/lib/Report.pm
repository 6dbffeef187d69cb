# Report.pm - rows of figures, and the report as text and as JSON.
#
# Rates and times of a shared machine mean nothing by themselves: the text has
# ratios only, and what was really measured is in the JSON.

package Report;

use strict;
use warnings;

use JSON::PP;
use Bars;

# row(measurement =>, cell =>, arm =>, what => what the ratio is of, figure =>,
#     raw => measured values [, against => arm] [, note =>])
sub row
{
	my %row = (against => 'stock', note => '', @_);

	Bars::judge(\%row);
	return \%row;
}

# a measurement that could not be made
sub absent
{
	my ($measurement, $reason) = @_;

	return { measurement => $measurement, absent => $reason };
}

sub interval
{
	my ($figure) = @_;

	return '' if !defined $figure->{low};
	return sprintf '[%.3f, %.3f]', @$figure{qw(low high)};
}

sub verdict
{
	my ($row) = @_;

	return '' if !$row->{verdict};
	return $row->{verdict} . ($row->{unsure} ? ', unsure' : '');
}

my $format = "%-30s %-7s %-11s %6s  %-16s %-7s %-8s %-13s %s\n";

sub line
{
	my ($row) = @_;

	return sprintf $format, $row->{cell}, $row->{arm}, $row->{against},
	  sprintf('%.3f', $row->{figure}{ratio}), interval($row->{figure}),
	  sprintf('%.3f', $row->{figure}{median}), $row->{bar} // '', verdict($row),
	  $row->{note};
}

# measurements in the order in which they were made, each with its rows
sub by_measurement
{
	my ($rows) = @_;
	my (@order, %rows);

	for my $row (@$rows)
	{
		push @order, $row->{measurement} if !$rows{ $row->{measurement} };
		push @{ $rows{ $row->{measurement} } }, $row;
	}
	return map { [ $_, $rows{$_} ] } @order;
}

sub as_text
{
	my ($report) = @_;
	my $text = '';

	for my $group (by_measurement($report->{rows}))
	{
		my ($name, $rows) = @$group;

		if ($rows->[0]{absent})
		{
			$text .= "\n$name: not measured, $rows->[0]{absent}\n";
			next;
		}
		$text .= "\n$name: ratio of $rows->[0]{what}\n";
		$text .= sprintf $format, 'load', 'arm', 'against', 'ratio', '95 % interval', 'median', 'bar', 'verdict', 'note';

		# the fixed settings fit on one line a cell
		my @single = grep { !is_fixed($_) } @$rows;
		$text .= join '', map { line($_) } @single;
		$text .= grid([ grep { is_fixed($_) } @$rows ]);
	}

	my @judged = grep { $_->{verdict} } @{ $report->{rows} };
	my @missed = grep { $_->{verdict} eq 'miss' } @judged;

	$text .= sprintf "\n%d figures have a bar: %d pass, %d miss\n", scalar @judged, @judged - @missed, scalar @missed;
	$text .= sprintf "  miss: %s %s, %s against %s: %.3f %s, bar %s\n",
	  @$_{qw(measurement cell arm against)}, $_->{figure}{ratio}, interval($_->{figure}), $_->{bar}
	  for @missed;
	return $text;
}

sub is_fixed
{
	my ($row) = @_;

	return $row->{measurement} eq 'loops' && $row->{arm} =~ /^\d/;
}

sub grid
{
	my ($rows) = @_;
	my (@cells, %ratio, @arms, %seen);

	return '' if !@$rows;
	for my $row (@$rows)
	{
		push @cells, $row->{cell} if !$ratio{ $row->{cell} };
		push @arms, $row->{arm} if !$seen{ $row->{arm} }++;
		$ratio{ $row->{cell} }{ $row->{arm} } = $row->{figure}{ratio};
	}

	my $text = sprintf "\n%-30s%s\n", 'fixed spin_time against stock', join '', map { sprintf '%9s', $_ } @arms;
	for my $cell (@cells)
	{
		$text .= sprintf "%-30s%s\n", $cell, join '', map { sprintf '%9.3f', $ratio{$cell}{$_} } @arms;
	}
	return $text;
}

sub as_json
{
	my ($report) = @_;
	my (@rows, %seen);

	# the rows of a cell share their measured values, which the first one keeps
	for my $row (@{ $report->{rows} })
	{
		my %copy = %$row;

		delete $copy{raw} if $copy{raw} && $seen{ $copy{raw} }++;
		push @rows, \%copy;
	}
	return JSON::PP->new->pretty->canonical->encode({ %$report, rows => \@rows });
}

1;
