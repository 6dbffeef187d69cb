# Pair.pm - measurement "pair": an uncontended acquire and release.
#
# What it costs depends on where code and data happen to lie, which changes
# with every start of a server and with nothing else.  So the servers are
# restarted several times, and one start is one observation.

package Pair;

use strict;
use warnings;

use Arms;
use Blocks;
use Ratio;
use Report;

my $slice_seconds = 0.1;

sub measure
{
	my ($bench) = @_;
	my $plan = $bench->{plan}{pair};
	my $arms = Arms->new($bench,
		counts => { 'lwtune.track' => 'counts' },
		timing => { 'lwtune.track' => 'timing' });
	my @starts;

	for my $start (1 .. $plan->{starts})
	{
		$bench->progress("pair: server start $start of $plan->{starts}");
		for my $server ($bench->servers)
		{
			if ($start > 1)
			{
				$server->stop;
				$bench->start_server($server);
			}
			pin($server);
		}

		my $rounds = calibrate($bench->{stock});

		push @starts, Blocks::run(
			arms => [ $arms->names ],
			rounds => $plan->{rounds},
			slice => sub { pair_ns($arms->enter($_[0]), $rounds) });
	}
	unpin($_) for $bench->servers;

	my @rows;
	for my $arm (grep { $_ ne 'stock' } $arms->names)
	{
		my $figure = Ratio::compare_grouped(\@starts, $arm, 'stock');

		push @rows, Report::row(
			measurement => 'pair',
			cell => 'acquire + release, one client',
			arm => $arm,
			what => 'time',
			figure => $figure,
			note => "$plan->{rounds} rounds in each of $plan->{starts} server starts",
			raw => \@starts);
	}
	return @rows;
}

sub pair_ns
{
	my ($server, $rounds) = @_;
	my ($session) = $server->sessions(1);

	return $session->query("SELECT lwtune_torture_pair($rounds)");
}

# rounds that fill a slice
sub calibrate
{
	my ($server) = @_;

	return int($slice_seconds * 1e9 / pair_ns($server, 500_000)) + 1;
}

# Both backends on the same processor, since processors differ too.
sub pin
{
	my ($server) = @_;

	set_processors($server, last_processor());
}

sub unpin
{
	my ($server) = @_;

	set_processors($server, '0-' . last_processor());
}

sub set_processors
{
	my ($server, $list) = @_;
	my ($session) = $server->sessions(1);

	qx(taskset -a -c -p $list $session->{backend} 2>&1);
	warn "cannot pin a backend with taskset; the figures will be noisier\n" if $?;
}

sub last_processor
{
	open(my $info, '<', '/proc/cpuinfo') or die "cannot read /proc/cpuinfo: $!\n";
	my @numbers = map { /^processor\s*:\s*(\d+)/ ? $1 : () } <$info>;

	return $numbers[-1];
}

1;
