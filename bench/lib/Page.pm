# Page.pm - the report as one HTML file that needs nothing else.
#
# Readable in black and white: what distinguishes is shape and pattern, and
# every figure of the pictures stands in the table below them.

package Page;

use strict;
use warnings;

use Report;

my %title = (
	pair => 'An uncontended acquire and release',
	loops => 'Several processes in a loop on one lock',
	pgbench => 'Whole transactions, default settings',
	instructions => 'Instructions of an acquire and release',
	switches => 'Processes put to sleep by contention');

my %better = (
	time => 'lower is better',
	rate => 'higher is better',
	instructions => 'lower is better',
	'switches per acquisition' => 'lower is better');

my ($left, $plot_width, $right) = (300, 540, 90);
my ($top_margin, $row_height) = (22, 20);

sub render
{
	my ($report) = @_;
	my $body = '';

	for my $group (Report::by_measurement($report->{rows}))
	{
		my ($name, $rows) = @$group;

		$body .= '<h2>' . escape($title{$name} // $name) . "</h2>\n";
		if ($rows->[0]{absent})
		{
			$body .= '<p>Not measured: ' . escape($rows->[0]{absent}) . ".</p>\n";
			next;
		}
		$body .= figure($rows) . table($rows);
	}
	return page($report, $body);
}

sub escape
{
	my ($text) = @_;

	$text =~ s/&/&amp;/g;
	$text =~ s/</&lt;/g;
	$text =~ s/>/&gt;/g;
	$text =~ s/"/&quot;/g;
	return $text;
}

sub page
{
	my ($report, $body) = @_;
	my $about = join "\n", map { '<tr><th>' . escape($_) . '</th><td>' . escape($report->{about}{$_}) . '</td></tr>' }
	  sort keys %{ $report->{about} };
	my @judged = grep { $_->{verdict} } @{ $report->{rows} };
	my $missed = grep { $_->{verdict} eq 'miss' } @judged;
	my $summary = sprintf '%d figures have a bar: %d pass, %d miss.', scalar @judged, @judged - $missed, $missed;

	return <<"EOH";
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>lwtune: measurements</title>
<style>
body { font: 15px/1.45 sans-serif; color: #000; background: #fff; max-width: 60em; margin: 2em auto; padding: 0 1em; }
table { border-collapse: collapse; font-size: 13px; margin: 0.5em 0 2em; }
th, td { text-align: left; padding: 2px 10px 2px 0; border-bottom: 1px solid #ccc; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
svg { max-width: 100%; height: auto; }
svg text { font: 12px sans-serif; }
</style>
</head>
<body>
<h1>lwtune: measurements</h1>
<p>Each figure is a ratio of two servers, or of two settings, that took turns in short slices within one run.
A bar reaches from 1, which is no difference, to the estimate; the line across it is the 95&nbsp;% interval; a triangle marks what the figure has to reach.
Bars are grey where that is reached, hatched where it is missed, and white where there is nothing to reach.</p>
<p><strong>$summary</strong></p>
<table>
$about
</table>
$body</body>
</html>
EOH
}

sub table
{
	my ($rows) = @_;
	my $html = "<details><summary>the figures</summary>\n<table>\n<tr><th>load</th><th>arm</th><th>against</th><th>ratio</th><th>95 % interval</th>"
	  . "<th>median</th><th>bar</th><th>verdict</th><th>note</th></tr>\n";

	for my $row (@$rows)
	{
		my $figure = $row->{figure};

		$html .= sprintf "<tr><td>%s</td><td>%s</td><td>%s</td><td class=\"number\">%.3f</td><td>%s</td>"
		  . "<td class=\"number\">%.3f</td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
		  map({ escape($_) } @$row{qw(cell arm against)}), $figure->{ratio}, Report::interval($figure),
		  $figure->{median}, map { escape($_) } $row->{bar} // '', Report::verdict($row), $row->{note};
	}
	return "$html</table></details>\n";
}

# a logarithmic axis, since 2 and 0.5 are equally far from 1
sub scale
{
	my ($rows) = @_;
	my @values = (1, map { my $row = $_; grep { defined } @{ $row->{figure} }{qw(ratio low high)}, $row->{limit} } @$rows);
	my ($low, $high) = (sort { $a <=> $b } @values)[ 0, -1 ];

	# one wild interval must not flatten the rest
	$low = $low < 0.1 ? 0.1 : $low;
	$high = $high > 10 ? 10 : $high;
	my $margin = 0.04 * log($high / $low) + 0.002;
	my ($from, $to) = (log($low) - $margin, log($high) + $margin);

	my @steps = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2);
	my ($step) = grep { (exp($to) - exp($from)) / $_ <= 10 } @steps;
	my @ticks = grep { $_ > 0 } map { $_ * $step } int(exp($from) / $step) + 1 .. int(exp($to) / $step);

	return {
		ticks => \@ticks,
		x => sub {
			my $log = log($_[0]);
			$log = $log < $from ? $from : $log > $to ? $to : $log;
			return sprintf '%.1f', $left + $plot_width * ($log - $from) / ($to - $from);
		}
	};
}

# One plot; a cell with several rows gets a heading and some room above it.
sub figure
{
	my ($rows) = @_;
	my $scale = scale($rows);
	my $x = $scale->{x};
	my (%rows_of, $bars);
	my ($previous, $y) = ('', $top_margin);

	$rows_of{ $_->{cell} }++ for @$rows;
	for my $row (@$rows)
	{
		my $shared = $rows_of{ $row->{cell} } > 1;

		if ($shared && $row->{cell} ne $previous)
		{
			$y += $row_height / 2;
			$bars .= sprintf qq{<text x="%d" y="%.1f" text-anchor="end" font-weight="bold">%s</text>\n},
			  $left - 8, $y + $row_height / 2 + 4, escape($row->{cell});
			$y += $row_height;
		}
		$bars .= bar($row, $shared ? label($row) : "$row->{cell}: " . label($row), $x, $y);
		$y += $row_height;
		$previous = $row->{cell};
	}

	my $bottom = $y + 4;
	my $grid = '';
	for my $tick (@{ $scale->{ticks} })
	{
		my $at = $x->($tick);
		my $text = sprintf '%.4g', $tick;

		$grid .= qq{<line x1="$at" y1="$top_margin" x2="$at" y2="$bottom" stroke="#ddd"/>\n};
		$grid .= sprintf qq{<text x="%s" y="%d" text-anchor="middle">%s</text>\n}, $at, $_, $text
		  for $top_margin - 6, $bottom + 16;
	}

	my $one = $x->(1);
	my $middle = $left + $plot_width / 2;
	my $end = $left + $plot_width;
	my $what = $rows->[0]{what};
	my $axis = escape("ratio of $what, logarithmic; " . ($better{$what} // ''));
	my ($width, $height) = ($end + $right, $bottom + 44);
	my $axis_y = $bottom + 36;

	return <<"EOS";
<svg viewBox="0 0 $width $height" width="$width" height="$height" role="img" aria-label="$axis">
<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="6" height="6" fill="#fff"/><line x1="0" y1="0" x2="0" y2="6" stroke="#000" stroke-width="2"/></pattern></defs>
$grid$bars<line x1="$one" y1="$top_margin" x2="$one" y2="$bottom" stroke="#000"/>
<line x1="$left" y1="$bottom" x2="$end" y2="$bottom" stroke="#000"/>
<text x="$middle" y="$axis_y" text-anchor="middle">$axis</text>
</svg>
EOS
}

sub label
{
	my ($row) = @_;

	return "$row->{arm} against $row->{against}" if $row->{against} ne 'stock';
	return Report::is_fixed($row) ? "spin_time = $row->{arm}" : $row->{arm};
}

sub bar
{
	my ($row, $label, $x, $top) = @_;
	my $figure = $row->{figure};
	my ($from, $to) = sort { $a <=> $b } $x->(1), $x->($figure->{ratio});
	my $middle = $top + $row_height / 2;
	my $fill = !$row->{verdict} ? '#fff' : $row->{verdict} eq 'pass' ? '#bbb' : 'url(#hatch)';
	my $svg = '';

	$svg .= sprintf qq{<text x="%d" y="%.1f" text-anchor="end">%s</text>\n}, $left - 8, $middle + 4, escape($label);
	$svg .= sprintf qq{<rect x="%s" y="%.1f" width="%.1f" height="%d" fill="%s" stroke="#000" stroke-width="0.8"/>\n},
	  $from, $top + 4, $to - $from, $row_height - 8, $fill;
	if (defined $figure->{low})
	{
		my ($low, $high) = map { $x->($_) } @$figure{qw(low high)};

		# white below, so that it shows on a hatched bar
		$svg .= qq{<line x1="$low" y1="$middle" x2="$high" y2="$middle" stroke="#fff" stroke-width="4"/>\n};
		$svg .= qq{<path d="M$low,$middle H$high M$low,@{[ $middle - 4 ]} v8 M$high,@{[ $middle - 4 ]} v8" stroke="#000" stroke-width="1.5" fill="none"/>\n};
	}
	if ($row->{bar})
	{
		my $at = $x->($row->{limit});

		$svg .= sprintf qq{<path d="M%s,%.1f l-4,-7 h8 z" fill="#000"/>\n}, $at, $top + 5;
	}
	$svg .= sprintf qq{<text x="%d" y="%.1f">%.3f%s</text>\n}, $left + $plot_width + 6, $middle + 4,
	  $figure->{ratio}, $row->{verdict} ? " $row->{verdict}" : '';
	return $svg;
}

1;
