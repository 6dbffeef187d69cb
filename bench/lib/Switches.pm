# Switches.pm - measurement "switches": how often contention puts processes to
# sleep, per acquisition.

package Switches;

use strict;
use warnings;

use Arms;
use Blocks;
use Load;
use Ratio;
use Report;

my ($shape, $clients) = ('200/400', 8);

sub measure
{
	my ($bench) = @_;
	my $plan = $bench->{plan}{switches};
	my $arms = Arms->new($bench, auto => { 'lwtune.spin_time' => 'auto' });
	my @rows;

	Load::prepare($_) for $bench->servers;
	Load::contend($arms->enter($_), $shape, $clients, 1) for $arms->names;

	my $rounds = Blocks::run(
		arms => [ $arms->names ],
		rounds => $plan->{rounds},
		before => sub { $bench->progress("switches: round $_[0] of $_[1]") },
		slice => sub {

			# none at all has no logarithm
			my $sleeps = Load::contend($arms->enter($_[0]), $shape, $clients, $plan->{seconds})->{sleeps};
			$sleeps > 1e-9 ? $sleeps : 1e-9;
		});

	for my $arm (grep { $_ ne 'stock' } $arms->names)
	{
		push @rows, Report::row(
			measurement => 'switches',
			cell => "$shape, $clients clients",
			arm => $arm,
			what => 'switches per acquisition',
			figure => Ratio::compare($rounds, $arm, 'stock'),
			note => sprintf('per 1000 acquisitions: stock %.3g, %s %.3g',
				per_thousand($rounds, 'stock'), $arm, per_thousand($rounds, $arm)),
			raw => $rounds);
	}
	return @rows;
}

sub per_thousand
{
	my ($rounds, $arm) = @_;

	return 1000 * Ratio::median(map { $_->{$arm} } @$rounds);
}

1;
