# Instructions.pm - measurement "instructions": of an uncontended acquire and
# release, counted by valgrind in a single-user server.
#
# Two counts with different numbers of rounds are subtracted, so that starting
# the server drops out.  The count is exact, so one run has no interval to show.

package Instructions;

use strict;
use warnings;

use Report;

my ($few, $many) = (1_000, 101_000);

sub measure
{
	my ($bench) = @_;
	my $name = $bench->{null} ? 'again' : 'counts';
	my %count;

	if (!grep { -x "$_/valgrind" } split /:/, $ENV{PATH})
	{
		return Report::absent('instructions', 'there is no valgrind here');
	}

	# a single-user server wants the data for itself
	for my $server ($bench->servers)
	{
		$server->settings if !$bench->{null} && $server == $bench->{lwtune};
		$server->stop;
		my @counts = map {
			$bench->progress("instructions: $server->{name}, $_ rounds under valgrind");
			collected($server, $_);
		} $few, $many;
		$bench->start_server($server);

		return Report::absent('instructions', "valgrind gave no count for the server \"$server->{name}\"")
		  if grep { !defined } @counts;
		$count{ $server->{name} } = ($counts[1] - $counts[0]) / ($many - $few);
	}

	my ($stock, $lwtune) = @count{ map { $_->{name} } $bench->servers };

	return Report::row(
		measurement => 'instructions',
		cell => 'acquire + release, one client',
		arm => $name,
		what => 'instructions',
		figure => { n => 1, ratio => $lwtune / $stock, median => $lwtune / $stock },
		note => sprintf('stock %.1f, %s %.1f', $stock, $name, $lwtune),
		raw => \%count);
}

# instructions of a whole single-user server that runs so many pairs, or undef
sub collected
{
	my ($server, $rounds) = @_;
	my $out = "$server->{dir}/valgrind.$rounds";
	my $input = "$server->{dir}/valgrind.input";

	open(my $handle, '>', $input) or die "cannot write $input: $!\n";
	print $handle "SELECT lwtune_torture_pair($rounds)\n";
	close $handle;

	# the takeover changes code, which valgrind must not have kept translated
	system(join ' ', 'valgrind', '--tool=callgrind', '--smc-check=all',
		'--callgrind-out-file=/dev/null',
		$server->program('postgres'), '--single', '-D', "$server->{dir}/data",
		'postgres', "<$input", ">$out", '2>&1');
	open($handle, '<', $out) or return undef;
	my $text = join '', <$handle>;

	return undef if $text !~ /lwtune_torture_pair = "/;
	return $text =~ /Collected : (\d+)/ ? $1 : undef;
}

1;
